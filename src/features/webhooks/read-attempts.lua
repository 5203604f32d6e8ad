-- Reads the last successful and the last failed attempts of a hook.
-- KEYS delivered, failed
-- ARGV limit
-- Answers attempts(count of delivered, delivered …, failed …)
local successes = redis.call('LRANGE', delivered, 0, limit - 1)
local answer = {'attempts', tostring(#successes)}
for _, list in ipairs({successes, redis.call('LRANGE', failed, 0, limit - 1)}) do
  for _, attempt in ipairs(list) do answer[#answer + 1] = attempt end
end
return answer
