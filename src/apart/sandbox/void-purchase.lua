-- Adds a purchase to the voided purchases of its app, or removes it.
-- KEYS voided
-- ARGV token, voided_at (or '': no unit is refunded), oldest
-- Answers done
if voided_at == '' then redis.call('ZREM', voided, token) else redis.call('ZADD', voided, voided_at, token) end
redis.call('ZREMRANGEBYSCORE', voided, '-inf', oldest)
return {'done'}
