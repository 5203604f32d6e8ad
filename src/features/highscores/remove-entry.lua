-- Removes the entry of a deleted account from a board, and the account from the set `removed` of entries that operators removed.
-- KEYS scores, players, version, removed, secret
-- ARGV game, account_id
-- Library board.lua: entry_of_account, take_off, changed
-- Library season.lua: keep_payout
-- Answers removed none
redis.call('SREM', removed, account_id)
local entry = entry_of_account(secret, players, account_id)
if not entry then return {'none'} end
keep_payout(scores, entry.player_id, account_id, redis.call('ZSCORE', scores, entry.member))
take_off(scores, players, entry)
changed(version, game)
return {'removed'}
