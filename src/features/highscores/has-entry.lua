-- Tells whether an account has an entry that stands on a board.
-- KEYS scores, players
-- ARGV account_id
-- Answers standing none
local entry = redis.call('HGET', players, account_id)
-- An operator may have deleted a board's scores.
return {entry and redis.call('ZSCORE', scores, entry) and 'standing' or 'none'}
