-- Takes the elements of an outbox that the log does not have, and drops those that it has.
-- KEYS outbox
-- ARGV last (the begin of the last element that came into the log from here, or ''), limit, limit_bytes
-- Answers taken(elements that are left behind these, element …)
--
-- The element that begins with `last` and those before it are in the log. It is missing after they were dropped, and where a failover
-- without REDIS_WAIT_REPLICAS set the outbox back: then elements come into the log again, with the same ids.
local MOST_KEPT = 64 -- elements that are in the log already. Dropping is a write, and a look that writes nothing waits for no disk
local elements = redis.call('LRANGE', outbox, 0, limit + MOST_KEPT - 1)
local known = 0
if last ~= '' then
  for index, element in ipairs(elements) do
    if string.sub(element, 1, #last) == last then known = index end
  end
end
local answer, bytes = {'taken', '0'}, 0
for index = known + 1, math.min(#elements, known + limit) do
  if bytes > tonumber(limit_bytes) then break end
  answer[#answer + 1] = elements[index]
  bytes = bytes + #elements[index]
end
answer[2] = string.format('%d', math.max(0, redis.call('LLEN', outbox) - known - #answer + 2))
if known >= MOST_KEPT or (known > 0 and #answer == 2) then redis.call('LPOP', outbox, known) end
return answer
