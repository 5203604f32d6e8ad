-- Deletes what a guest held, once the account that it moved into has it.
-- KEYS held, standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers dropped not_moved
if standing_of(standing) ~= 'moved' then return {'not_moved'} end
redis.call('UNLINK', held)
return {'dropped'}
