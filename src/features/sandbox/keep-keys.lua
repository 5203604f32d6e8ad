-- Keeps the sandbox's keys where there are none yet, and answers those that are kept: of several makers the first wins.
-- KEYS keys
-- ARGV made
-- Answers kept(keys), none
if made ~= '' then redis.call('SET', keys, made, 'NX') end
local kept = redis.call('GET', keys)
if not kept then return {'none'} end
return {'kept', kept}
