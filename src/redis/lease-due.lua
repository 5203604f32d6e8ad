-- Takes due members, and moves their time to the end of a lease: if the process that took them dies, they are due again then.
-- KEYS due
-- ARGV now, lease_ms, limit
-- Answers taken(the lease's end, member …)
local members = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
local lease_end = string.format('%.17g', tonumber(now) + tonumber(lease_ms))
local answer = {'taken', lease_end}
for index, member in ipairs(members) do
  redis.call('ZADD', due, lease_end, member)
  answer[index + 2] = member
end
return answer
