-- Reads a range of a board, best first.
-- KEYS scores
-- ARGV order, from, to (places, 1 for the first)
-- Answers ranks(entries on the board, rank of the first entry, entry, score …)
local flags = order == 'asc' and {'WITHSCORES'} or {'REV', 'WITHSCORES'}
local found = redis.call('ZRANGE', scores, from - 1, to - 1, unpack(flags))
local ahead = 0
if found[2] then
  if order == 'asc' then ahead = redis.call('ZCOUNT', scores, '-inf', '(' .. found[2])
  else ahead = redis.call('ZCOUNT', scores, '(' .. found[2], '+inf') end
end
return {'ranks', string.format('%d', redis.call('ZCARD', scores)), string.format('%d', ahead + 1), unpack(found)}
