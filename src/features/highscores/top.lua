-- Reads a board's best entries, best first, the version of the list (submit.lua), and where an account stands.
-- KEYS scores, players, version, secret
-- ARGV order, size, known, account_id ('' for nobody)
-- Prologue prologue-check.lua
-- Library board.lua: entry_of_account, rank_of, range
-- Answers top(version; member, score …) own(rank, member, score of the account, three times '' without an entry; version; member, score …)
--
-- If the version is still `known`, the caller has the entries, and the answer ends after it.
local is_ascending = order == 'asc'
local current = redis.call('GET', version) or '0'
local answer = {'top', current}
if account_id ~= '' then
  local own = entry_of_account(secret, players, account_id)
  local score = own and redis.call('ZSCORE', scores, own.member)
  if score then answer = {'own', string.format('%.0f', rank_of(scores, score, is_ascending)), own.member, score, current}
  else answer = {'own', '', '', '', current} end
end
if current == known then return answer end
for _, word in ipairs(range(scores, is_ascending, 0, size - 1)) do answer[#answer + 1] = word end
return answer
