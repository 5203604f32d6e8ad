-- Takes due entries of a queue, and moves their time to the end of a lease, so that the entries are due again if the process dies.
-- KEYS due
-- ARGV now, lease_ms, limit
-- Answers taken(the lease's end, entry and its member's time or '' …)
local entries = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
local lease_end = string.format('%.0f', tonumber(now) + tonumber(lease_ms))
local answer = {'taken', lease_end}
for _, entry in ipairs(entries) do redis.call('ZADD', due, lease_end, entry) end
for index, entry in ipairs(entries) do
  answer[2 * index + 1] = entry
  answer[2 * index + 2] = redis.call('ZSCORE', due, string.match(entry, '^[^#]*')) or ''
end
return answer
