-- Takes work that is due, and pushes it back by a lease: work whose taker died is due again when that runs out.
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
