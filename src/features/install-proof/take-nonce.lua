-- Uses up a nonce for the first caller that names it. If the nonce is bound to an account, every other account is refused, and the nonce
-- stays unused.
-- KEYS nonce
-- ARGV caller_id (or ''), at
-- Prologue check-caller.lua
-- Answers taken(owner) nonce_used
local found = redis.call('HMGET', nonce, 'owner', 'expiresAt')
local owner, expires_at = found[1], tonumber(found[2])
if not owner then return {'nonce_used'} end
if owner ~= '' and caller_id ~= '' and caller_id ~= owner then return {'nonce_used'} end
redis.call('DEL', nonce)
if tonumber(at) >= expires_at then return {'nonce_used'} end
return {'taken', owner}
