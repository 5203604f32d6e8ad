-- Leases each enabled hook to one process at a time. A process that calls again before its leases end keeps its hooks.
-- KEYS hooks
-- ARGV holder, lease_ms
-- Answers held(id, record, cursor or '', turn, count of asked, asked …)
--
-- Leases end by the clock of Redis, because the clocks of the processes may differ.
local answer = {'held'}
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local records = redis.call('HGETALL', hooks)
for index = 1, #records, 2 do
  local id, record = records[index], records[index + 1]
  local is_read, hook = pcall(cjson.decode, record)
  if is_read and type(hook) == 'table' and not hook.disabled then
    local state = hooks .. ':state:' .. id
    local cursor, turn, leased_by, lease_end = unpack(redis.call('HMGET', state, 'cursor', 'turn', 'holder', 'leaseEnd'))
    if leased_by == holder or tonumber(lease_end or 0) <= now_ms then
      redis.call('HSET', state, 'holder', holder, 'leaseEnd', string.format('%.0f', now_ms + lease_ms))
      local asked = redis.call('LRANGE', hooks .. ':asked:' .. id, 0, 49)
      for _, word in ipairs({id, record, cursor or '', turn or '0', tostring(#asked)}) do answer[#answer + 1] = word end
      for _, word in ipairs(asked) do answer[#answer + 1] = word end
    end
  end
end
return answer
