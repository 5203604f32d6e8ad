-- Removes the entry of a deleted account from a board, and the note that an operator removed one.
-- KEYS scores, players, version, removed
-- ARGV game, account_id
-- Answers removed none
redis.call('SREM', removed, account_id)
local entry = redis.call('HGET', players, account_id)
if not entry then return {'none'} end
redis.call('ZREM', scores, entry)
redis.call('HDEL', players, account_id)
redis.call('INCR', version)
-- Every process drops its cached copy of this board: no process has the publisher -.
publish('{board:' .. game .. '}', '-')
return {'removed'}
