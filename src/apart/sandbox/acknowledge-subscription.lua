-- Records when a purchase was acknowledged. If the purchase was acknowledged before, the first time stays.
-- KEYS subscription
-- ARGV now
-- Answers acknowledged, unknown
if redis.call('EXISTS', subscription) == 0 then return {'unknown'} end
redis.call('HSETNX', subscription, 'acknowledgedAt', now)
return {'acknowledged'}
