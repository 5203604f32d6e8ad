-- Reads the heartbeat, the data's count of milliseconds of serving (data-id.ts). The batch of a durable script begins with a write, so the
-- answer waits until the replicas have the heartbeat too.
-- KEYS id
-- ARGV -
-- Answers found(id, heartbeat)
local found, heartbeat = string.match(redis.call('GET', id), '^(%S+) (%d+) ')
return {'found', found, heartbeat}
