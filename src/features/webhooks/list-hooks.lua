-- Reads one hook or all: id, record, position in the log, number of accounts that wait for a next attempt, '1' if a process has leased the
-- hook.
-- KEYS hooks
-- ARGV id (or '': all)
-- Library lease.lua: is_leased
-- Answers hooks(id, record, cursor, waiting, held …)
local answer = {'hooks'}
local records = id == '' and redis.call('HGETALL', hooks) or {id, redis.call('HGET', hooks, id) or nil}
for index = 1, #records - 1, 2 do
  local hook = records[index]
  local state = hooks .. ':state:' .. hook
  local count = #answer
  answer[count + 1], answer[count + 2], answer[count + 3] = hook, records[index + 1], redis.call('HGET', state, 'cursor') or ''
  answer[count + 4] = tostring(redis.call('HLEN', hooks .. ':waiting:' .. hook))
  answer[count + 5] = is_leased(state) and '1' or ''
end
return answer
