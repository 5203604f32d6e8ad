-- Reads a range of a board, best first.
-- KEYS scores
-- ARGV order, from, to (places, 1 for the first), period, season (as of board_for)
-- Library board.lua: rank_of, range
-- Library season.lua: board_for
-- Answers season_not_found ranks(season or '', its end; entries on the board, rank of the first entry; member, score …)
local shown_scores, _, shown_order, id, ends = board_for(scores, '', order, period, season)
if not shown_scores then return {'season_not_found'} end
local is_ascending = shown_order == 'asc'
local found = range(shown_scores, is_ascending, from - 1, to - 1)
local rank = found[2] and rank_of(shown_scores, found[2], is_ascending) or 1
return {'ranks', id, ends, string.format('%d', redis.call('ZCARD', shown_scores)), string.format('%.0f', rank), unpack(found)}
