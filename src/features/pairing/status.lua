-- Reads a pairing's status. After the claim, one answer to the browser that opened the pairing names the account for which the browser gets
-- a session. No other client gets a session or learns the claimant's name.
-- KEYS pair
-- ARGV now, secret_hashes, claimant_state (closed: moved or deleted; open; or '?': nobody has read it)
-- Answers pending scanned claimed(is the asking browser 0|1, name) denied expired signs_in(account id, generation, session form, name) claimant_wanted(account id, generation, is the asking browser 0|1, user agent, kind, sign-in or '') pair_not_found
--
-- The claimant's account is in another slot. If the answer depends on whether the account moved or was deleted, the script changes nothing
-- and answers `claimant_wanted`. The service then reads the account, and runs the script again. A claim is final, so the second call finds
-- the same claimant.
local found = redis.call('HMGET', pair,
  'status', 'expiresAt', 'forgottenAt', 'secretHash', 'claimant', 'delivered', 'generation', 'sessionForm', 'claimedBy', 'userAgent', 'kind', 'signIn')
local status, secret_hash, claimant, delivered = found[1], found[4], found[5], found[6]
local at = tonumber(now)
if not status or at >= tonumber(found[3]) then return {'pair_not_found'} end

if status == 'claimed' then
  local asks = string.find(secret_hashes, secret_hash, 1, true) ~= nil
  local name = asks and found[9] or ''
  if delivered then return {'claimed', asks and '1' or '0', name} end
  if claimant_state == '?' then return {'claimant_wanted', claimant, found[7], asks and '1' or '0', found[10], found[11], found[12] or ''} end
  -- A guest's claim ends when the guest moves into a store account, because the guest's installId is no longer valid. If the guest moves
  -- after the service has read the account, the browser gets a session that no endpoint accepts.
  if claimant_state == 'closed' then
    redis.call('HSET', pair, 'status', 'expired')
    return {'expired'}
  end
  if not asks then return {'claimed', '0', ''} end
  redis.call('HSET', pair, 'delivered', '1')
  -- The session gets the session generation that the account had at the time of the claim. If the account has signed out everywhere since
  -- then, the session is not valid.
  return {'signs_in', claimant, found[7], found[8], name}
end
if status ~= 'denied' and at >= tonumber(found[2]) then return {'expired'} end
return {status}
