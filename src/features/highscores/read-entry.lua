-- Reads an account's entry on a board.
-- KEYS scores, players
-- ARGV account_id
-- Answers standing(entry, score) none
local entry = redis.call('HGET', players, account_id)
-- An operator may have deleted a board's scores.
local score = entry and redis.call('ZSCORE', scores, entry)
if not score then return {'none'} end
return {'standing', entry, score}
