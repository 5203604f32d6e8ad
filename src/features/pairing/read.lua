-- Reads the status of a pairing, and the times at which it expires and is forgotten.
-- KEYS pair
-- ARGV -
-- Answers found(status, expires at, forgotten at) pair_not_found
local found = redis.call('HMGET', pair, 'status', 'expiresAt', 'forgottenAt')
if not found[1] then return {'pair_not_found'} end
return {'found', unpack(found)}
