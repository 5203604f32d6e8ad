-- Lists a purchase among the voided ones of its app, or takes it out.
-- KEYS voided
-- ARGV token, voided_at (or '': nothing of it is refunded), oldest
-- Answers done
if voided_at == '' then redis.call('ZREM', voided, token) else redis.call('ZADD', voided, voided_at, token) end
redis.call('ZREMRANGEBYSCORE', voided, '-inf', oldest)
return {'done'}
