-- Records the subscription issued for a purchase token. Whether it was acknowledged does not change.
-- KEYS subscription
-- ARGV issued, kept_seconds
-- Answers kept
redis.call('HSET', subscription, 'issued', issued)
redis.call('EXPIRE', subscription, kept_seconds)
return {'kept'}
