-- Removes an entry from a queue, and makes its member due at its next time.
-- KEYS due
-- ARGV member, entry, entry_seen_at (or '': any), member_seen_at (or ''), next_at (or '': never)
-- Answers settled
--
-- If a time differs from the time that was read, another process has set it. In this case the entry stays, and the member's time only
-- changes to an earlier time.
local function is_at(thing, seen_at) return tonumber(redis.call('ZSCORE', due, thing)) == tonumber(seen_at) end

if entry ~= member and (entry_seen_at == '' or is_at(entry, entry_seen_at)) then redis.call('ZREM', due, entry) end
if member_seen_at ~= '' and is_at(member, member_seen_at) then redis.call('ZREM', due, member) end
if next_at ~= '' then redis.call('ZADD', due, 'LT', next_at, member) end
return {'settled'}
