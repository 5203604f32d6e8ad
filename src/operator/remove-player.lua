-- Removes an account's entry from a board, for an operator.
-- KEYS scores, players, version, removed, secret
-- ARGV game, account_id
-- Library board.lua: entry_of_account, score_of, take_off, changed
-- Library season.lua: is_closed
-- Answers removed(member, score or '') none
--
-- The account's set of boards keeps the board. A new score may arrive at any time, and the set must name every board on which the account
-- has an entry. `removed` tells the audit why the account has no entry. If a season was closed after the operator read the board, the
-- season keeps the entry and its prize.
if is_closed(scores) then return {'none'} end
local entry = entry_of_account(secret, players, account_id)
if not entry then return {'none'} end
local score = score_of(scores, players, entry) or ''
take_off(scores, players, entry)
redis.call('SADD', removed, account_id)
changed(version, game)
return {'removed', entry.member, score}
