-- Reads a pairing's status. Once it is claimed, the browser that opened it gets the account to sign in, once. No other client
-- ever gets it, nor learns the claimant's name.
-- KEYS pair
-- ARGV now, secret_hashes, claimant_state (closed: moved or deleted; open; or '?': nobody has read it)
-- Answers pending scanned claimed(is the asking browser 0|1, name) denied expired signs_in(account id, generation, session form, name) claimant_wanted(account id, generation, is the asking browser 0|1, user agent, kind) pair_not_found
--
-- The claimant's standing has another hash tag. Where the answer depends on it, the script does nothing and asks for a read
-- at the claimant. A claim is final, so the claimant is the same when the script runs again.
local found = redis.call('HMGET', pair,
  'status', 'expiresAt', 'forgottenAt', 'secretHash', 'claimant', 'delivered', 'generation', 'sessionForm', 'claimedBy', 'userAgent', 'kind')
local status, secret_hash, claimant, delivered = found[1], found[4], found[5], found[6]
local at = tonumber(now)
if not status or at >= tonumber(found[3]) then return {'pair_not_found'} end

if status == 'claimed' then
  local asks = string.find(secret_hashes, secret_hash, 1, true) ~= nil
  local name = asks and found[9] or ''
  if delivered then return {'claimed', asks and '1' or '0', name} end
  if claimant_state == '?' then return {'claimant_wanted', claimant, found[7], asks and '1' or '0', found[10], found[11]} end
  -- The claim of a guest ends when the guest moves into a store account, because its installId is no longer valid. A guest that
  -- moves after the read gets a session that no endpoint accepts.
  if claimant_state == 'closed' then
    redis.call('HSET', pair, 'status', 'expired')
    return {'expired'}
  end
  if not asks then return {'claimed', '0', ''} end
  redis.call('HSET', pair, 'delivered', '1')
  -- The session gets the generation of the claim: if the account signed out everywhere since then, the session is not valid.
  return {'signs_in', claimant, found[7], found[8], name}
end
if status ~= 'denied' and at >= tonumber(found[2]) then return {'expired'} end
return {status}
