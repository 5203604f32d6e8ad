-- Leases each enabled hook to one process at a time. A process keeps its hooks if it calls again before its leases end.
-- KEYS hooks
-- ARGV holder, lease_ms
-- Library lease.lua: leased_by, set_lease
-- Answers held(id, record, cursor or '', turn, count of asked, asked …)
local answer = {'held'}
local records = redis.call('HGETALL', hooks)
for index = 1, #records, 2 do
  local id, record = records[index], records[index + 1]
  local is_read, hook = pcall(cjson.decode, record)
  if is_read and type(hook) == 'table' and not hook.disabled then
    local state = hooks .. ':state:' .. id
    if (leased_by(state, lease_ms) or holder) == holder then
      set_lease(state, holder, lease_ms)
      local cursor, turn = unpack(redis.call('HMGET', state, 'cursor', 'turn'))
      local asked = redis.call('LRANGE', hooks .. ':asked:' .. id, 0, 49)
      for _, word in ipairs({id, record, cursor or '', turn or '0', tostring(#asked)}) do answer[#answer + 1] = word end
      for _, word in ipairs(asked) do answer[#answer + 1] = word end
    end
  end
end
return answer
