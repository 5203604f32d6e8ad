-- Records that a notification named a purchase without an owner, and the time at which the app store will be asked about the purchase.
-- KEYS purchase
-- ARGV store (or '': the first store), token, package_name, act
-- Answers noticed(due at) owned
local LEAST_WAIT_MS = 2000 -- the shortest time between two checks, however many notifications come
local owner, faults, due_at, checked_at = unpack(redis.call('HMGET', purchase, 'owner', 'faults', 'dueAt', 'checkedAt'))
if owner then return {'owned'} end
-- After a failed check a notification does not shorten the wait for the next check.
if not due_at or tonumber(faults or '0') == 0 then
  due_at = string.format('%.0f', math.min(tonumber(due_at) or math.huge, math.max(tonumber(now), (checked_at or 0) + LEAST_WAIT_MS)))
end
redis.call('HSETNX', purchase, 'noticedAt', now)
if store ~= '' then redis.call('HSET', purchase, 'store', store) end
redis.call('HSET', purchase, 'token', token, 'packageName', package_name, 'hintedAt', now, 'dueAt', due_at, 'act', act)
return {'noticed', due_at}
