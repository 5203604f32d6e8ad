-- Takes an entry out of a queue, and makes its member due again at the time that the work named.
-- KEYS due
-- ARGV member, entry, seen_at (or '': any), next_at (or '': never)
-- Answers settled changed
--
-- An entry whose time is not `seen_at` any more stays: somebody else made it due. Then the member moves to an earlier time only.
local is_changed = seen_at ~= '' and tonumber(redis.call('ZSCORE', due, entry)) ~= tonumber(seen_at)
if not is_changed then redis.call('ZREM', due, entry) end
if next_at ~= '' then redis.call('ZADD', due, 'LT', next_at, member) end
return {is_changed and 'changed' or 'settled'}
