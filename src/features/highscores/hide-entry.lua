-- Hides an account's entry on a board, or shows it again.
-- KEYS scores, players, version, secret
-- ARGV game, account_id, is_hidden
-- Library board.lua: entry_of_account, hidden_score, hide, show, changed
-- Answers changed none
local entry = entry_of_account(secret, players, account_id)
if not entry then return {'none'} end
local hidden = hidden_score(players, entry)
local score = redis.call('ZSCORE', scores, entry.member)
if is_hidden == '1' and score then hide(scores, players, entry, score)
elseif is_hidden == '0' and hidden then show(scores, players, entry, hidden)
else return {'none'} end
changed(version, game)
return {'changed'}
