-- Records that the purchase of a kept notification still cannot be recorded, and when the app store is asked again.
-- KEYS notice
-- ARGV unknowns, faults, due_at
-- Answers postponed none
if redis.call('EXISTS', notice) == 0 then return {'none'} end
redis.call('HSET', notice, 'unknowns', unknowns, 'faults', faults, 'dueAt', due_at)
return {'postponed'}
