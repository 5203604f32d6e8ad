-- Takes a code for a new room, unless a room still lives under it.
-- KEYS room
-- ARGV head, doc, state, account_id, ttl_ms
-- Library head.lua: stands
-- Answers created taken
local standing = redis.call('HGET', room, 'head')
if stands(standing, tonumber(now)) then return {'taken'} end
if not open_account() then return {'rate_limited'} end

if standing then redis.call('DEL', room) end
redis.call('HSET', room, 'head', head, 'doc', doc, 'state', state, 'given', 1, 'p1', account_id)
redis.call('PEXPIRE', room, ttl_ms)
return answer('created')
