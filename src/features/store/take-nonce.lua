-- Takes a nonce: whoever comes first has it, and nobody after. One that a known caller asked for serves that caller alone.
-- KEYS nonce
-- ARGV caller_id (or ''), at
-- Answers taken(owner) nonce_used sign_in_required
local found = redis.call('HMGET', nonce, 'owner', 'expiresAt')
local owner, expires_at = found[1], tonumber(found[2])
if not owner then return {'nonce_used'} end
if owner ~= '' and caller_id ~= '' and caller_id ~= owner then return {'nonce_used'} end
redis.call('DEL', nonce)
if tonumber(at) >= expires_at then return {'nonce_used'} end
-- Nobody has to say who sends a proof: then it counts for the account that asked, unless that moved since.
if owner ~= '' and redis.call('GETRANGE', '{' .. owner .. '}:moves', 0, 0) == '>' then return {'sign_in_required'} end
return {'taken', owner}
