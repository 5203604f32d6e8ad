-- Stores the progress that a process has made with the deliveries of a hook, and renews the process's lease.
-- KEYS hooks, state, waiting, delivered, failed, asked
-- ARGV id, holder, lease_ms (0: ends it), turn, cursor, waits, successes, failures, kept, asked_done, disabled (or '')
-- Library lease.lua: end_lease, set_lease
-- Answers noted(record) lost
--
-- `waits` is a JSON list of [account, its waiting events or '']; `successes` and `failures` are JSON lists of attempts, oldest first.
-- `disabled` is a JSON object if the endpoint answered 410, which means that it is gone.
-- `turn` is the turn of the state that the process knows. `lost`: another process has the lease, an operator has set the hook's position,
-- or a failover has brought back an older state. If the answer is `lost`, nothing is stored, and the process reads the state again. The
-- position and the waiting events have to change together. Otherwise an event could be before the position without being a waiting event,
-- and it would be lost.
local record = redis.call('HGET', hooks, id)
local known_turn, leased_by = unpack(redis.call('HMGET', state, 'turn', 'leasedBy'))
if not record or leased_by ~= holder or known_turn ~= turn then return {'lost'} end
local lists = {cjson.decode(waits), cjson.decode(successes), cjson.decode(failures)}

redis.call('HSET', state, 'turn', string.format('%.0f', turn + 1), 'cursor', cursor)
if tonumber(lease_ms) == 0 then end_lease(state, holder) else set_lease(state, holder, lease_ms) end
for _, wait in ipairs(lists[1]) do
  if wait[2] == '' then redis.call('HDEL', waiting, wait[1]) else redis.call('HSET', waiting, wait[1], wait[2]) end
end
for index, list in ipairs({delivered, failed}) do
  for _, attempt in ipairs(lists[index + 1]) do redis.call('LPUSH', list, attempt) end
  if #lists[index + 1] > 0 then redis.call('LTRIM', list, 0, kept - 1) end
end
if tonumber(asked_done) > 0 then redis.call('LTRIM', asked, asked_done, -1) end
if disabled ~= '' then
  local hook = cjson.decode(record)
  if not hook.disabled then
    -- The object is added to the text of the record, because cjson would write an empty list as an object, and long numbers with fewer
    -- digits.
    record = string.gsub(record, '}$', function() return ',"disabled":' .. disabled .. '}' end)
    redis.call('HSET', hooks, id, record)
  end
end
return {'noted', record}
