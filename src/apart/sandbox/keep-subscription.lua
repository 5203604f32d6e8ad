-- Records the subscription issued for a purchase token. Its acknowledgement stays as it is.
-- KEYS subscription
-- ARGV issued, kept_seconds
-- Answers kept
redis.call('HSET', subscription, 'issued', issued)
redis.call('EXPIRE', subscription, kept_seconds)
return {'kept'}
