-- Reads what the sandbox issued for a purchase token, and whether it was acknowledged: 1 or 0.
-- KEYS subscription
-- ARGV -
-- Answers issued(json, acknowledged), unknown
local issued = redis.call('HGET', subscription, 'issued')
if not issued then return {'unknown'} end
return {'issued', issued, tostring(redis.call('HEXISTS', subscription, 'acknowledgedAt'))}
