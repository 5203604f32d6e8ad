-- Lets readers see the events before a position, and tells every process.
-- KEYS state
-- ARGV readable
-- Answers shown
--
-- It runs after the replicas of REDIS_WAIT_REPLICAS have the events: a failover must not take back what somebody has read.
if tonumber(readable) > tonumber(redis.call('HGET', state, 'readable') or '0') then redis.call('HSET', state, 'readable', readable) end
announce('events', readable)
return {'shown'}
