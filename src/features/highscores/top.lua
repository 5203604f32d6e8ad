-- Reads a board's best entries, best first, and the version of the list (submit.lua).
-- KEYS scores, version
-- ARGV order, size
-- Answers top(version, entry, score …)
local flags = order == 'asc' and {'WITHSCORES'} or {'REV', 'WITHSCORES'}
return {'top', redis.call('GET', version) or '0', unpack(redis.call('ZRANGE', scores, 0, size - 1, unpack(flags)))}
