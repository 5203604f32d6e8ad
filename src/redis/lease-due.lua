-- Takes due members, and moves their time to the end of a lease: if the process that took them dies, they are due again then.
-- KEYS due
-- ARGV now, lease_ms, limit
-- Answers taken(member …)
local members = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
local answer = {'taken'}
for index, member in ipairs(members) do
  redis.call('ZADD', due, tonumber(now) + tonumber(lease_ms), member)
  answer[index + 1] = member
end
return answer
