-- Reads a page of a board, best first.
-- KEYS scores, players
-- ARGV order, limit, score, member (the last entry of the page before; '' for the first page)
-- Library board.lua: rank_of, listed, index_after
-- Answers entries(place of the first entry, 0 for the best; its rank; member, score, name …)
local is_ascending = order == 'asc'
local from = member == '' and 0 or index_after(scores, is_ascending, score, member)
local answer = listed({'entries', string.format('%.0f', from), '1'}, scores, players, is_ascending, from, from + limit - 1)
if from > 0 and answer[5] then answer[3] = string.format('%.0f', rank_of(scores, answer[5], is_ascending)) end
return answer
