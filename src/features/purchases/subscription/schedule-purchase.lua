-- Sets the time at which the next check of a purchase is due, unless another purchase replaced it.
-- KEYS purchase
-- ARGV due_at (or '': never), faults, hinted_at (or ''), act (or '')
-- Answers scheduled unknown
--
-- `hintedAt` is the time at which the last notification arrived. A check that is running compares this time with the time of its own
-- request to the store, because the store's answer may be older than the notification (update-purchase.lua).
local token, retired_by = unpack(redis.call('HMGET', purchase, 'token', 'retiredBy'))
if not token or retired_by then return {'unknown'} end
redis.call('HSET', purchase, 'faults', faults, 'dueAt', due_at)
if hinted_at ~= '' then redis.call('HSET', purchase, 'hintedAt', hinted_at) end
if act ~= '' then redis.call('HSET', purchase, 'act', act) end
return {'scheduled'}
