-- Records the time at which the app store has to be asked again about a purchase that no account has yet.
-- KEYS purchase
-- ARGV due_at, faults, unknowns
-- Answers repeated gone
local owner, noticed_at = unpack(redis.call('HMGET', purchase, 'owner', 'noticedAt'))
if owner or not noticed_at then return {'gone'} end
redis.call('HSET', purchase, 'dueAt', due_at, 'faults', faults, 'unknowns', unknowns)
return {'repeated'}
