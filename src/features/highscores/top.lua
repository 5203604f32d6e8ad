-- Reads a board's best entries, best first, the version of the list (submit.lua), and where an account stands.
-- KEYS scores, players, version, secret
-- ARGV order, size, known, account_id ('' for nobody)
-- Prologue prologue-check.lua
-- Library board.lua: entry_of_account, rank_of, listed
-- Answers top(version; member, score, name …) own(rank, member, score, name of the account, four times '' without an entry; version; member, score, name …)
--
-- If the version is still `known`, the caller has the entries, and the answer ends after it.
local is_ascending = order == 'asc'
local current = redis.call('GET', version) or '0'
local answer = {'top', current}
if account_id ~= '' then
  local own = entry_of_account(secret, players, account_id)
  local score = own and redis.call('ZSCORE', scores, own.member)
  if score then answer = {'own', string.format('%.0f', rank_of(scores, score, is_ascending)), own.member, score, own.name, current}
  else answer = {'own', '', '', '', '', current} end
end
if current == known then return answer end
return listed(answer, scores, players, is_ascending, 0, size - 1)
