-- Freezes a guest that is to move into an account: no script writes to the guest until the move is done or taken back.
-- KEYS account, ledger
-- ARGV move_id (or '': only tell whether the guest may move), target_id, store, day, from_pairing
-- Shared secret
-- Prologue prologue-check.lua: standing, moved_in
-- Library standing-changes.lua: freeze
-- Library ledger.lua: is_data_of
-- Answers frozen movable not_a_guest from_pairing other_data
if not is_data_of(secret) then return {'other_data'} end
if redis.call('HEXISTS', account, 'store') == 1 or moved_in ~= '' then return {'not_a_guest'} end
-- With a pairing's session, the claimant of the pairing chose the guest, and so the trial, purchases and reports that would move.
if from_pairing == '1' then return {'from_pairing'} end
if move_id == '' then return {'movable'} end

freeze(standing, move_id, target_id, store, day)
return {'frozen'}
