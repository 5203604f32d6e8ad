-- Reads the heartbeat of the data (data-id.ts). A durable batch begins with a write, so its WAIT waits until the replicas have the
-- heartbeat too.
-- KEYS id
-- ARGV -
-- Answers found(id, heartbeat)
local found, heartbeat = string.match(redis.call('GET', id), '^(%S+) (%d+) ')
return {'found', found, heartbeat}
