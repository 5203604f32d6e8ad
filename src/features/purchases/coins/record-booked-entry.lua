-- Records that a ledger has the open entry of a purchase, and computes the purchase's next entry.
-- KEYS purchase
-- ARGV number (of the entry), coins (of the entry), balance_after
-- Prelude purchase-coins.lua: whole, add, decide, document
-- Answers booked(field, value …) stale(field, value …) unknown
local booking, entries = unpack(redis.call('HMGET', purchase, 'booking', 'entries'))
if not entries then return {'unknown'} end
if not booking or entries ~= number then return {'stale', document()} end

local type, _, units = string.match(booking, '^(%S+) (%S+) (%S+)$')
if type == 'topup' then
  if redis.call('HSETNX', purchase, 'grantedAt', now) == 1 then redis.call('HSET', purchase, 'balanceAfter', balance_after) end
  redis.call('HINCRBY', purchase, 'granted', coins)
  add('grantedUnits', units)
else
  redis.call('HINCRBY', purchase, 'taken', whole(-coins))
  add('returnedUnits', units)
  redis.call('HSET', purchase, 'refundedAt', now)
end
redis.call('HDEL', purchase, 'booking')
decide()
return {'booked', document()}
