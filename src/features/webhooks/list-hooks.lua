-- Reads one hook or all: id, record, position in the log, number of accounts that wait for a next attempt, '1' if a process has leased the
-- hook. The record of a hook is '' if its other data is damaged, so that the hook hides no other.
-- KEYS hooks
-- ARGV id (or '': all)
-- Library lease.lua: is_leased
-- Answers hooks(id, record, cursor, waiting, held …)
local answer = {'hooks'}
local records = id == '' and redis.call('HGETALL', hooks) or {id, redis.call('HGET', hooks, id) or nil}
for index = 1, #records - 1, 2 do
  local hook = records[index]
  local state = hooks .. ':state:' .. hook
  local is_whole, cursor, waiting, held = pcall(function()
    return redis.call('HGET', state, 'cursor') or '', tostring(redis.call('HLEN', hooks .. ':waiting:' .. hook)), is_leased(state) and '1' or ''
  end)
  for _, word in ipairs(is_whole and {hook, records[index + 1], cursor, waiting, held} or {hook, '', '', '0', ''}) do
    answer[#answer + 1] = word
  end
end
return answer
