-- Removes a deleted account from a purchase. The record stays, so that no other account can claim the purchase, and its grant can still be
-- reported.
-- KEYS purchase
-- ARGV owner
-- Answers released kept
local found = redis.call('HMGET', purchase, 'owner', 'grantedAt', 'finished', 'state')
if found[1] ~= owner then return {'kept'} end
redis.call('HSET', purchase, 'owner', '-')
redis.call('HDEL', purchase, 'booking', 'buyer', 'orderId', 'balanceAfter', 'transfer', 'moves')
if not found[2] or found[3] or found[4] ~= 'purchased' then redis.call('HDEL', purchase, 'id') end
return {'released'}
