-- Reads a range of a board, best first.
-- KEYS scores
-- ARGV order, from, to (places, 1 for the first)
-- Library board.lua: rank_of, range
-- Answers ranks(entries on the board, rank of the first entry; member, score …)
local is_ascending = order == 'asc'
local found = range(scores, is_ascending, from - 1, to - 1)
local rank = found[2] and rank_of(scores, found[2], is_ascending) or 1
return {'ranks', string.format('%d', redis.call('ZCARD', scores)), string.format('%.0f', rank), unpack(found)}
