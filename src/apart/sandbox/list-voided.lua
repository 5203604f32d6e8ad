-- Lists the voided purchases of an app, oldest first.
-- KEYS voided
-- ARGV from, to, offset, count
-- Answers voided(token, time, token, time, …)
return {'voided', unpack(redis.call('ZRANGEBYSCORE', voided, from, to, 'WITHSCORES', 'LIMIT', offset, count))}
