-- Reads a player's entry and the entries around it, best first.
-- KEYS scores, players, secret
-- ARGV order, limit (entries on each side), account_id, player_id ('': the player of the account), period, season (as of board_for)
-- Prologue check-caller.lua
-- Library board.lua: entry_of, entry_of_account, rank_of, range
-- Library season.lua: board_for
-- Answers season_not_found none(season or '', its end) around(season or '', its end; place of the player's entry, place of the first entry, its rank; member, score …)
--
-- A place is an entry's position on the board, 0 for the best.
local shown_scores, shown_players, shown_order, id, ends = board_for(scores, players, order, period, season)
if not shown_scores then return {'season_not_found'} end
local is_ascending = shown_order == 'asc'
local own
if player_id == '' then own = entry_of_account(secret, shown_players, account_id) else own = entry_of(shown_players, player_id) end
local index = own and redis.call(is_ascending and 'ZRANK' or 'ZREVRANK', shown_scores, own.member)
if not index then return {'none', id, ends} end
local from, rank = math.max(0, index - limit), 1
-- Also reads the entry before the first entry of the answer. The entries above have to be counted for the rank of the first entry only if
-- these two entries have the same score.
local before = from > 0 and 1 or 0
local found = range(shown_scores, is_ascending, from - before, index + limit)
if before == 1 then rank = found[2] == found[4] and rank_of(shown_scores, found[4], is_ascending) or from + 1 end
return {'around', id, ends, string.format('%.0f', index), string.format('%.0f', from), string.format('%.0f', rank), unpack(found, 2 * before + 1)}
