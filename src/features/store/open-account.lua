-- Opens a store account if there is none yet.
-- KEYS account
-- ARGV store, now
-- Answers opened(created 0|1)
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
return {'opened', string.format('%.0f', created)}
