-- Removes an account's entry from a board, for an operator.
-- KEYS scores, players, version, removed
-- ARGV game, account_id
-- Answers removed(entry, score or '') none
--
-- The account's set of boards goes on naming the board: a score of the account may arrive at any time, and no entry may be without a set
-- that names its board. `removed` tells the audit why the account has no entry.
local entry = redis.call('HGET', players, account_id)
if not entry then return {'none'} end
local score = redis.call('ZSCORE', scores, entry) or ''
redis.call('ZREM', scores, entry)
redis.call('HDEL', players, account_id)
redis.call('SADD', removed, account_id)
redis.call('INCR', version)
-- Every process drops its cached copy of this board: no process has the publisher -.
publish('{board:' .. game .. '}', '-')
return {'removed', entry, score}
