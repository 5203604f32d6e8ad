-- Records when a purchase was acknowledged. A repeated call keeps the first time.
-- KEYS subscription
-- ARGV now
-- Answers acknowledged, unknown
if redis.call('EXISTS', subscription) == 0 then return {'unknown'} end
redis.call('HSETNX', subscription, 'acknowledgedAt', now)
return {'acknowledged'}
