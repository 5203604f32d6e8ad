-- Takes a step in a pairing: scan binds it to the claimant, confirm claims it, deny refuses it. One claimant wins.
-- KEYS pair
-- ARGV step, claimant
-- Prologue prologue-open.lua: open_account, answer, moved_in, generation
-- Answers scanned(match code, address, user agent, created at) claimed(same) denied(same) pair_not_found already_claimed pair_denied pair_expired
local found = redis.call('HMGET', pair,
  'status', 'claimant', 'expiresAt', 'forgottenAt', 'matchCode', 'address', 'userAgent', 'createdAt', 'delivered')
local status, bound_to, expires_at, forgotten_at = found[1], found[2], tonumber(found[3]), tonumber(found[4])
local at = tonumber(now)
if not status or at >= forgotten_at then return {'pair_not_found'} end

local function details(word) return answer(word, found[5], found[6], found[7], found[8]) end

-- A guest that scanned may have moved into the caller's account before it confirms. The caller may then go on. The move voids
-- the guest's claim if the browser has not fetched the session yet.
local is_guests = bound_to and string.find('\n' .. moved_in, '\n' .. bound_to .. ' ', 1, true) ~= nil
local is_own = bound_to == claimant or is_guests
if status == 'claimed' then
  if not is_own or step == 'deny' then return {'already_claimed'} end
  if is_guests and not found[9] then return {'pair_expired'} end
  return details('claimed')
end
if status == 'denied' then
  if is_own and step == 'deny' then return details('denied') end
  return {'pair_denied'}
end
if status == 'expired' or at >= expires_at then return {'pair_expired'} end
if bound_to and not is_own then return {'already_claimed'} end

local next_status = step == 'scan' and 'scanned' or step == 'deny' and 'denied' or 'claimed'
if next_status == status then return details(status) end
if next_status == 'claimed' and not open_account(account, creation_barred) then return {'rate_limited'} end

redis.call('HSET', pair, 'status', next_status, 'claimant', claimant, 'generation', generation)
publish(pair, next_status .. ' ' .. found[3])
return details(next_status)
