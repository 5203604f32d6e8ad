-- Reads the subscription issued for a purchase token, and whether it was acknowledged.
-- KEYS subscription
-- ARGV -
-- Answers issued(json, acknowledged 0|1), unknown
local issued = redis.call('HGET', subscription, 'issued')
if not issued then return {'unknown'} end
return {'issued', issued, tostring(redis.call('HEXISTS', subscription, 'acknowledgedAt'))}
