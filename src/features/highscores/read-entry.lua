-- Reads an account's entry on a board, even if the entry is hidden.
-- KEYS scores, players, secret
-- ARGV account_id
-- Library board.lua: entry_of_account, score_of
-- Answers standing(member, score) none
local entry = entry_of_account(secret, players, account_id)
-- An entry has no score if an operator deleted the board's scores by hand.
local score = entry and score_of(scores, players, entry)
if not score then return {'none'} end
return {'standing', entry.member, score}
