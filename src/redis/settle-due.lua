-- Sets the next time of a member, or removes it, unless its time has changed since it was seen.
-- KEYS due
-- ARGV member, seen_at, next_at (or '': remove)
-- Answers settled changed
if tonumber(redis.call('ZSCORE', due, member)) ~= tonumber(seen_at) then return {'changed'} end
if next_at == '' then redis.call('ZREM', due, member) else redis.call('ZADD', due, next_at, member) end
return {'settled'}
