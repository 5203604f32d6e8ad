-- Sets the secret of the hashes of idempotency keys, unless another process has already set it.
-- KEYS secret
-- ARGV own
-- Answers made(the secret)
redis.call('SET', secret, own, 'NX')
return {'made', redis.call('GET', secret)}
