-- Records when a purchase was consumed. If the purchase was consumed before, the first time stays.
-- KEYS purchase
-- ARGV now
-- Answers consumed, unknown
if redis.call('EXISTS', purchase) == 0 then return {'unknown'} end
redis.call('HSETNX', purchase, 'consumedAt', now)
return {'consumed'}
