-- Makes the secret of the ledgers, unless another process was first, and takes that of data version 1 out of use.
-- KEYS secret, old_secret
-- ARGV own, taken_over
-- Answers made(the secret)
redis.call('SET', secret, own, 'NX')
redis.call('SET', old_secret, taken_over)
return {'made', redis.call('GET', secret)}
