-- Reads the sandbox's signing keys, and records `made` if there are none. If several processes start together, the keys that are recorded
-- first stay.
-- KEYS keys
-- ARGV made (or '')
-- Answers kept(keys), none
if made ~= '' then redis.call('SET', keys, made, 'NX') end
local kept = redis.call('GET', keys)
if not kept then return {'none'} end
return {'kept', kept}
