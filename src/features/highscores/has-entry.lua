-- Tells whether an account has an entry that stands on a board.
-- KEYS scores, players, secret
-- ARGV account_id
-- Library board.lua: entry_of_account
-- Answers standing none
local entry = entry_of_account(secret, players, account_id)
-- An operator may have deleted a board's scores.
return {entry and redis.call('ZSCORE', scores, entry.member) and 'standing' or 'none'}
