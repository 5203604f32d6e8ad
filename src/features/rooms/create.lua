-- Takes a code for a new room, unless a room still lives under it.
-- KEYS room
-- ARGV doc, state, ttl_ms
-- Answers created taken
local standing = redis.call('HGET', room, 'doc')
if standing and cjson.decode(standing).expiresAt > tonumber(now) then return {'taken'} end
if not open_account() then return {'rate_limited'} end

redis.call('HSET', room, 'doc', doc, 'state', state, 'seq', 1)
redis.call('PEXPIRE', room, ttl_ms)
return answer('created')
