-- Reads an account's entry on a board.
-- KEYS scores, players, secret
-- ARGV account_id
-- Library board.lua: entry_of_account
-- Answers standing(member, score) none
local entry = entry_of_account(secret, players, account_id)
-- An operator may have deleted a board's scores.
local score = entry and redis.call('ZSCORE', scores, entry.member)
if not score then return {'none'} end
return {'standing', entry.member, score}
