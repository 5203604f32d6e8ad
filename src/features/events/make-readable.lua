-- Lets readers see the events before a position, and announces the position to every process.
-- KEYS state
-- ARGV readable
-- Answers shown
--
-- The relay runs this script once the replicas of REDIS_WAIT_REPLICAS have the events, because a failover must not lose an event that a
-- reader has seen.
if tonumber(readable) > tonumber(redis.call('HGET', state, 'readable') or '0') then redis.call('HSET', state, 'readable', readable) end
announce('events', readable)
return {'shown'}
