-- Deletes a key of a moved guest after its content has joined the key of the account.
-- KEYS held, standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers dropped not_moved
if standing_of(standing) ~= 'moved' then return {'not_moved'} end
redis.call('UNLINK', held)
return {'dropped'}
