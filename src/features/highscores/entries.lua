-- Reads a page of a board, best first.
-- KEYS scores
-- ARGV order, limit, score, head (the last entry of the page before; '' for the first page)
-- Library board.lua: range, behind
-- Answers entries(place of the first entry, 0 for the best; its rank; member, score …)
local is_ascending = order == 'asc'
local from, ahead = 0, 0
if head ~= '' then from, ahead = behind(scores, is_ascending, score, head) end
local found = range(scores, is_ascending, from, from + limit - 1)
-- All entries before the page have the score of the page before or a better one.
local is_tied = head ~= '' and found[2] and tonumber(found[2]) == tonumber(score)
return {'entries', string.format('%.0f', from), string.format('%.0f', (is_tied and ahead or from) + 1), unpack(found)}
