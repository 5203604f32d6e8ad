-- Adds a purchase to the list of its app's voided purchases, or removes it from the list. Also removes purchases that were voided before
-- `oldest`.
-- KEYS voided
-- ARGV token, voided_at (or '': no unit is refunded), oldest
-- Answers done
if voided_at == '' then redis.call('ZREM', voided, token) else redis.call('ZADD', voided, voided_at, token) end
redis.call('ZREMRANGEBYSCORE', voided, '-inf', oldest)
return {'done'}
