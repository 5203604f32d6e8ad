-- Reads the purchase of a one-time product, and whether it was consumed.
-- KEYS purchase
-- ARGV -
-- Answers issued(json, consumed 0|1), unknown
local issued = redis.call('HGET', purchase, 'issued')
if not issued then return {'unknown'} end
return {'issued', issued, tostring(redis.call('HEXISTS', purchase, 'consumedAt'))}
