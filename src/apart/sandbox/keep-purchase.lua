-- Records the purchase of a one-time product, unless the purchase has changed since it was read. Whether it was consumed does not change.
-- KEYS purchase
-- ARGV issued, seen (JSON as it was read, or '': a new purchase), kept_seconds
-- Answers kept changed
if (redis.call('HGET', purchase, 'issued') or '') ~= seen then return {'changed'} end
redis.call('HSET', purchase, 'issued', issued)
redis.call('EXPIRE', purchase, kept_seconds)
return {'kept'}
