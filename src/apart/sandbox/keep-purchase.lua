-- Records the purchase of a one-time product, unless it has changed since it was read. Its consumption stays as it is.
-- KEYS purchase
-- ARGV issued, seen (JSON as it was read, or '': a new purchase), kept_seconds
-- Answers kept changed
if (redis.call('HGET', purchase, 'issued') or '') ~= seen then return {'changed'} end
redis.call('HSET', purchase, 'issued', issued)
redis.call('EXPIRE', purchase, kept_seconds)
return {'kept'}
