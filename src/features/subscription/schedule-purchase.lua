-- Sets the time of a purchase's next check, unless another purchase replaced it.
-- KEYS purchase, due
-- ARGV hash, due_at (or '': never), faults, hinted_at (or '')
-- Answers scheduled unknown
--
-- `hintedAt` lets a check that is running see that its answer may be older than the notification (update-purchase.lua).
local owner, retired_by = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy'))
if not owner or retired_by then
  redis.call('ZREM', due, hash)
  return {'unknown'}
end
redis.call('HSET', purchase, 'faults', faults)
if hinted_at ~= '' then redis.call('HSET', purchase, 'hintedAt', hinted_at) end
if due_at == '' then redis.call('ZREM', due, hash) else redis.call('ZADD', due, due_at, hash) end
return {'scheduled'}
