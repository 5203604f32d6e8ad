-- Removes an account's entry from a board, for an operator.
-- KEYS scores, players, version, removed, secret
-- ARGV game, account_id
-- Library board.lua: entry_of_account, score_of, take_off, changed
-- Library season.lua: is_closed
-- Answers removed(member, score or '') none
--
-- The account's set of boards goes on naming the board: a score of the account may arrive at any time, and no entry may be without a set
-- that names its board. `removed` tells the audit why the account has no entry. A season that was closed since the operator looked keeps the
-- entry: its prize stands.
if is_closed(scores) then return {'none'} end
local entry = entry_of_account(secret, players, account_id)
if not entry then return {'none'} end
local score = score_of(scores, players, entry) or ''
take_off(scores, players, entry)
redis.call('SADD', removed, account_id)
changed(version, game)
return {'removed', entry.member, score}
