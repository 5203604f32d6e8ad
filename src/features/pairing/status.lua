-- Where a pairing stands. The browser that asked for it is told once, and nobody else ever, whom to sign in.
-- KEYS pair
-- ARGV now, secret_hashes
-- Answers pending scanned claimed denied expired signs_in(account id) pair_not_found
local found = redis.call('HMGET', pair, 'status', 'expiresAt', 'forgottenAt', 'secretHash', 'claimant', 'delivered')
local status, secret_hash, claimant, delivered = found[1], found[4], found[5], found[6]
local at = tonumber(now)
if not status or at >= tonumber(found[3]) then return {'pair_not_found'} end

if status == 'claimed' then
  if delivered or not string.find(secret_hashes, secret_hash, 1, true) then return {'claimed'} end
  redis.call('HSET', pair, 'delivered', '1')
  return {'signs_in', claimant}
end
if status ~= 'denied' and at >= tonumber(found[2]) then return {'expired'} end
return {status}
