-- Takes a step in a pairing: `scan` reads the pairing, `confirm` claims it, and `deny` refuses it. Only the first claimant gets the
-- pairing.
-- KEYS pair
-- ARGV step, claimant, name (or ''), kind (passed: the caller's own session comes from a pairing; else pairing), sign_in (of the caller's session, or '')
-- Prologue open-account.lua: account, open_account, tell_event, answer, moved_in, generation
-- Library standing.lua: has_guest
-- Answers pending(match code, address, user agent, created at) scanned(same) claimed(same) denied(same) expired(same) pair_not_found already_claimed pair_denied pair_expired
--
-- A scan reserves nothing, because otherwise anybody who photographs the QR code could lock out the code's owner. The field `scanner` has
-- the account that scanned, or SEVERAL. If only one account has scanned, it may deny the pairing. Any other denial changes nothing, and the
-- answer is the pairing's status.
local SEVERAL = '*' -- in `scanner` after several accounts scanned
local found = redis.call('HMGET', pair,
  'status', 'claimant', 'expiresAt', 'forgottenAt', 'matchCode', 'address', 'userAgent', 'createdAt', 'delivered', 'scanner')
local status, expires_at, forgotten_at, scanner = found[1], tonumber(found[3]), tonumber(found[4]), found[10]
local at = tonumber(now)
if not status or at >= forgotten_at then return {'pair_not_found'} end

local function details(word) return answer(word, found[5], found[6], found[7], found[8]) end

-- A guest that scanned or claimed the pairing may have moved into the caller's account since then. The caller may continue after the
-- guest's scan. If the guest claimed the pairing, its claim ended with the move, unless the browser had already fetched the session.
local function is_guests(id) return id and has_guest(moved_in, id) end
local function is_own(id) return id == claimant or is_guests(id) end
-- Keeps the first name that the claimant sends. The asking browser shows this name.
local function keep_name() if name ~= '' then redis.call('HSETNX', pair, 'claimedBy', name) end end

if (status == 'pending' or status == 'scanned') and at >= expires_at then status = 'expired' end
if status ~= 'pending' and status ~= 'scanned' then
  if step == 'deny' then return details(status) end
  if status == 'denied' then return {'pair_denied'} end
  if status == 'expired' then return {'pair_expired'} end
  if not is_own(found[2]) then return {'already_claimed'} end
  if is_guests(found[2]) and not found[9] then return {'pair_expired'} end
  if step == 'confirm' then keep_name() end
  return details('claimed')
end

local function set_status(word)
  redis.call('HSET', pair, 'status', word)
  publish(pair, word .. ' ' .. found[3])
end

if step == 'scan' then
  if not is_own(scanner) then redis.call('HSET', pair, 'scanner', scanner and SEVERAL or claimant) end
  if status ~= 'scanned' then set_status('scanned') end
  return details('scanned')
end
if step == 'deny' then
  if not is_own(scanner) then return details(status) end
  set_status('denied')
  return details('denied')
end
if not open_account(account, creation_barred) then return {'rate_limited'} end
-- A claim is final, so `claimant` must never change. The audit compares it with `winner`.
redis.call('HSET', pair, 'claimant', claimant, 'winner', claimant, 'generation', generation, 'kind', kind, 'signIn', sign_in)
keep_name()
set_status('claimed')
if emits then
  -- The next line computes the pairing id as `pairingIdOf` of model.ts does. If the account is on another primary, the relay of events
  -- numbers the event in the account's slot.
  local pairing_id = string.sub(redis.sha1hex('coinop:pairing:' .. string.sub(pair, 7, -2)), 1, 22)
  if account == '' then emit('p ' .. claimant .. ' ? ' .. pairing_id) else tell_event(claimant, 'p', pairing_id) end
end
return details('claimed')
