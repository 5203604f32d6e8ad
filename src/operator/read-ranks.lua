-- Reads a range of a board, best first.
-- KEYS scores, players
-- ARGV order, from, to (places, 1 for the first)
-- Library board.lua: rank_of, listed
-- Answers ranks(entries on the board, rank of the first entry; member, score, name …)
local is_ascending = order == 'asc'
local answer = listed({'ranks', string.format('%d', redis.call('ZCARD', scores)), '1'}, scores, players, is_ascending, from - 1, to - 1)
if answer[5] then answer[3] = string.format('%.0f', rank_of(scores, answer[5], is_ascending)) end
return answer
