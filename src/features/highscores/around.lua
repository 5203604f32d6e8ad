-- Reads a player's entry and those around it, best first.
-- KEYS scores, players, secret
-- ARGV order, limit (entries on each side), account_id, player_id ('' for that of the account)
-- Prologue prologue-check.lua
-- Library board.lua: entry_of, entry_of_account, rank_of, listed
-- Answers none around(place of the player's entry, place of the first entry, its rank; member, score, name …)
--
-- Places count from 0 for the best.
local is_ascending = order == 'asc'
local own
if player_id == '' then own = entry_of_account(secret, players, account_id) else own = entry_of(players, player_id) end
local index = own and redis.call(is_ascending and 'ZRANK' or 'ZREVRANK', scores, own.member)
if not index then return {'none'} end
local from = math.max(0, index - limit)
local answer = listed({'around', string.format('%.0f', index), string.format('%.0f', from), ''}, scores, players, is_ascending, from, index + limit)
answer[4] = string.format('%.0f', rank_of(scores, answer[6], is_ascending))
return answer
