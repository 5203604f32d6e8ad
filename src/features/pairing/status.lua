-- Where a pairing stands. The browser that asked for it is told once, and nobody else ever, whom to sign in.
-- KEYS pair
-- ARGV now, secret_hashes
-- Answers pending scanned claimed denied expired signs_in(account id, generation) pair_not_found
local found = redis.call('HMGET', pair, 'status', 'expiresAt', 'forgottenAt', 'secretHash', 'claimant', 'delivered', 'generation')
local status, secret_hash, claimant, delivered = found[1], found[4], found[5], found[6]
local at = tonumber(now)
if not status or at >= tonumber(found[3]) then return {'pair_not_found'} end

if status == 'claimed' then
  if delivered then return {'claimed'} end
  -- The claim of a guest that moved into a store account since has ended: its installId opens nothing any more. Where
  -- guests moved in, so has one without a generation: in an older version an installId that had moved could claim.
  local record = redis.call('GETRANGE', '{' .. claimant .. '}:moves', 0, 0)
  if record == '>' or (record ~= '' and not found[7]) then
    redis.call('HSET', pair, 'status', 'expired')
    return {'expired'}
  end
  if not string.find(secret_hashes, secret_hash, 1, true) then return {'claimed'} end
  redis.call('HSET', pair, 'delivered', '1')
  -- The generation of when it was claimed: a sign-out everywhere since then ends this session as well.
  return {'signs_in', claimant, found[7] or '0'}
end
if status ~= 'denied' and at >= tonumber(found[2]) then return {'expired'} end
return {status}
