-- Records that a purchase is fully refunded, as the app store's list of refunds says. Does nothing if the store's answers about the
-- purchase itself have the number of refunded units.
-- KEYS purchase
-- ARGV act
-- Prelude purchase-coins.lua: whole, add, decide, document
-- Answers done unknown
local quantity, tells = unpack(redis.call('HMGET', purchase, 'quantity', 'tellsRefunds'))
if not quantity then return {'unknown'} end
if tells then return {'done'} end
redis.call('HSET', purchase, 'refunded', quantity, 'act', act)
decide()
return {'done'}
