-- Takes a nonce: whoever comes first has it, and nobody after.
-- KEYS nonce
-- ARGV at
-- Answers taken(owner) nonce_used
local found = redis.call('HMGET', nonce, 'owner', 'expiresAt')
local owner, expires_at = found[1], tonumber(found[2])
if not owner then return {'nonce_used'} end
redis.call('DEL', nonce)
if tonumber(at) >= expires_at then return {'nonce_used'} end
return {'taken', owner}
