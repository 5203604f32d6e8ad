-- Sets when a purchase that stands is checked next.
-- KEYS purchase, due
-- ARGV hash, due_at (or '': never), faults, hinted_at (or '')
-- Answers scheduled unknown
--
-- One that another took the place of has nothing more to say. A hint is kept: what was asked before it may be older.
local owner, retired_by = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy'))
if not owner or retired_by then
  redis.call('ZREM', due, hash)
  return {'unknown'}
end
redis.call('HSET', purchase, 'faults', faults)
if hinted_at ~= '' then redis.call('HSET', purchase, 'hintedAt', hinted_at) end
if due_at == '' then redis.call('ZREM', due, hash) else redis.call('ZADD', due, due_at, hash) end
return {'scheduled'}
