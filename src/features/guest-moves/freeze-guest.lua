-- Freezes a guest that is to move into an account: no script writes to the guest until the move is done or taken back.
-- KEYS account, ledger
-- ARGV move_id (or '': only tell whether the guest may move), target_id, store (`MoveTarget` of model.ts), day, from_pairing, sign_in_id
-- Shared secret
-- Prologue check-caller.lua: standing, moved_in
-- Library standing-changes.lua: freeze
-- Library sign-ins.lua: has_sign_in
-- Library ledger.lua: MOST_SEQ, is_data_of, tail
-- Answers frozen movable not_a_guest from_pairing used not_its_sign_in other_data
if not is_data_of(secret) then return {'other_data'} end
local kind = string.sub(store, 1, 1)
-- A sign-in that was never used has no account. But somebody may have signed in with it after the service read the sign-in's state.
if kind == '+' then
  if redis.call('EXISTS', account) == 1 or moved_in ~= '' then return {'used'} end
-- Anybody who has a token of the sign-in may merge the account, but only while the account has the sign-in.
elseif kind == '-' then
  if not has_sign_in(string.match(account, '^{.-}'), sign_in_id) then return {'not_its_sign_in'} end
elseif redis.call('HEXISTS', account, 'store') == 1 or moved_in ~= '' then return {'not_a_guest'} end
-- If the caller has a pairing's session, the claimant of the pairing chose the guest, and with it the trial, purchases and reports that
-- would move.
if from_pairing == '1' then return {'from_pairing'} end
-- No step of the move could read a damaged ledger, so the guest would stay frozen for ever.
if tail(ledger) > MOST_SEQ then error('the ledger of the guest is damaged') end
if move_id == '' then return {'movable'} end

freeze(standing, move_id, target_id, store, day)
return {'frozen'}
