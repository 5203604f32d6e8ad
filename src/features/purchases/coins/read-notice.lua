-- Reads a notification of the app store that is kept until its purchase can be recorded.
-- KEYS notice
-- ARGV -
-- Answers found(store, id, app, noticed at, unknowns, faults, due at) none
local found = redis.call('HMGET', notice, 'store', 'id', 'packageName', 'noticedAt', 'unknowns', 'faults', 'dueAt')
if not found[1] then return {'none'} end
return {'found', unpack(found)}
