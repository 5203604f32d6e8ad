-- Deletes what a guest held, once the account that it moved into has it.
-- KEYS held, moves
-- ARGV -
-- Answers dropped not_moved
if redis.call('GETRANGE', moves, 0, 0) ~= '>' then return {'not_moved'} end
redis.call('UNLINK', held)
return {'dropped'}
