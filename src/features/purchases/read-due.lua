-- Lists purchases of the queue by the time at which they are due, for operators.
-- KEYS due
-- ARGV count
-- Answers due(entry, time, entry, time …)
return {'due', unpack(redis.call('ZRANGE', due, 0, count - 1, 'WITHSCORES'))}
