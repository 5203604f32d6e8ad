-- Changes the name of an account's entry on a board.
-- KEYS scores, players, version, secret
-- ARGV game, account_id, name
-- Library board.lua: entry_of_account, entry_of, put, hidden_score, hide, score_of, changed
-- Answers renamed none
local entry = entry_of_account(secret, players, account_id)
if not entry or entry.name == name then return {'none'} end
local hidden, score = hidden_score(players, entry), score_of(scores, players, entry)
if not score then return {'none'} end
redis.call('ZREM', scores, entry.member)
put(scores, players, account_id, entry.player_id, entry.place, name, score)
if hidden then hide(scores, players, entry_of(players, entry.player_id), hidden) end
changed(version, game)
return {'renamed'}
