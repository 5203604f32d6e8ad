-- Reads the best entries of a board, best first, the version of this list (submit.lua) and, if an account is given, the account's own
-- entry.
-- KEYS scores, players, version, secret
-- ARGV order, size, known, account_id ('': no account), period, season (as of board_for)
-- Prologue check-caller.lua
-- Library board.lua: entry_of_account, rank_of, range
-- Library season.lua: board_for, shown_version
-- Answers season_not_found top(season or '', its end, version; member, score …) own(rank, member, score of the account, three times '' without an entry; season or '', its end, version; member, score …)
--
-- If the version still equals `known`, the caller already has the entries, and the answer ends with the version.
local shown_scores, shown_players, shown_order, id, ends = board_for(scores, players, order, period, season)
if not shown_scores then return {'season_not_found'} end
local is_ascending = shown_order == 'asc'
local current = shown_version(redis.call('GET', version), ends)
local answer = {'top', id, ends, current}
if account_id ~= '' then
  local own = entry_of_account(secret, shown_players, account_id)
  local score = own and redis.call('ZSCORE', shown_scores, own.member)
  if score then answer = {'own', string.format('%.0f', rank_of(shown_scores, score, is_ascending)), own.member, score, id, ends, current}
  else answer = {'own', '', '', '', id, ends, current} end
end
if current == known then return answer end
for _, word in ipairs(range(shown_scores, is_ascending, 0, size - 1)) do answer[#answer + 1] = word end
return answer
