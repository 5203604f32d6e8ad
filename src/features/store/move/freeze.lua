-- Freezes a guest that is to move into an account: from now on nothing writes to it, until the move is done or taken back.
-- KEYS account, ledger
-- ARGV move_id (or '': only tell whether the guest may move), target_id, store, day, from_pairing
-- Shared secret
-- Prologue prologue-check.lua: moves, moved_in
-- Library ledger.lua: is_data_of
-- Answers frozen movable not_a_guest from_pairing other_data
--
-- The first line of the move record holds all that a helper needs. The record that the guest had follows it, for thaw.lua.
if not is_data_of(secret) then return {'other_data'} end
if redis.call('HEXISTS', account, 'store') == 1 or moved_in ~= '' then return {'not_a_guest'} end
-- The claimant of the pairing chose this guest, and with the guest its trial, purchases and reports.
if from_pairing == '1' then return {'from_pairing'} end
if move_id == '' then return {'movable'} end

local before = redis.call('GET', moves) or ''
redis.call('SET', moves, string.format('~%s %s %s %s\n', move_id, target_id, store, day) .. before)
return {'frozen'}
