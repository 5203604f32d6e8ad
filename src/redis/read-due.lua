-- Lists entries of a queue by the time at which they are due.
-- KEYS due
-- ARGV count
-- Answers due(entry, time, entry, time …)
return {'due', unpack(redis.call('ZRANGE', due, 0, count - 1, 'WITHSCORES'))}
