-- Deletes a guest's set or hash after its content was added to the account that the guest moved into.
-- KEYS held, standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers dropped not_moved
if standing_of(standing) ~= 'moved' then return {'not_moved'} end
redis.call('UNLINK', held)
return {'dropped'}
