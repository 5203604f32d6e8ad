-- Reads a page of a board, best first.
-- KEYS scores
-- ARGV order, limit, score, head (the last entry of the page before; '' for the first page), period, season (as of board_for)
-- Library board.lua: range, behind
-- Library season.lua: board_for
-- Answers season_not_found entries(season or '', its end; place of the first entry, 0 for the best; its rank; member, score …)
local shown_scores, _, shown_order, id, ends = board_for(scores, '', order, period, season)
if not shown_scores then return {'season_not_found'} end
local is_ascending = shown_order == 'asc'
local from, ahead = 0, 0
if head ~= '' then from, ahead = behind(shown_scores, is_ascending, score, head) end
local found = range(shown_scores, is_ascending, from, from + limit - 1)
-- If the first entry has the same score as the last entry of the previous page, both have the same rank.
local is_tied = head ~= '' and found[2] and tonumber(found[2]) == tonumber(score)
local rank = (is_tied and ahead or from) + 1
return {'entries', id, ends, string.format('%.0f', from), string.format('%.0f', rank), unpack(found)}
