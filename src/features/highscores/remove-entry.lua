-- Removes the entry of a deleted account from a board.
-- KEYS scores, players, version
-- ARGV game, account_id
-- Answers removed none
local entry = redis.call('HGET', players, account_id)
if not entry then return {'none'} end
redis.call('ZREM', scores, entry)
redis.call('HDEL', players, account_id)
redis.call('INCR', version)
-- Every process drops its cached copy of this board: no process has the publisher -.
redis.call(publish, '{board:' .. game .. '}', '-')
return {'removed'}
