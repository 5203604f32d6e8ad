-- Reads a board's best entries, best first.
-- KEYS scores
-- ARGV order, size
-- Answers top(entry, score …)
local flags = order == 'asc' and {'WITHSCORES'} or {'REV', 'WITHSCORES'}
return {'top', unpack(redis.call('ZRANGE', scores, 0, size - 1, unpack(flags)))}
