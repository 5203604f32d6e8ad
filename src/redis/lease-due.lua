-- Takes due entries, and moves their time to the end of a lease: if the process that took them dies, they are due again then.
-- KEYS due
-- ARGV now, lease_ms, limit
-- Answers taken(the lease's end, entry …)
local entries = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
local lease_end = string.format('%.0f', tonumber(now) + tonumber(lease_ms))
local answer = {'taken', lease_end}
for index, entry in ipairs(entries) do
  redis.call('ZADD', due, lease_end, entry)
  answer[index + 2] = entry
end
return answer
