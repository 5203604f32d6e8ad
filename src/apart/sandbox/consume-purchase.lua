-- Records when a purchase was consumed. A repeated call keeps the first time.
-- KEYS purchase
-- ARGV now
-- Answers consumed, unknown
if redis.call('EXISTS', purchase) == 0 then return {'unknown'} end
redis.call('HSETNX', purchase, 'consumedAt', now)
return {'consumed'}
