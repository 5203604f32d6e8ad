-- Takes the elements of an outbox that the log does not have, and drops those that it has.
-- KEYS outbox
-- ARGV last (the begin of the last element that came into the log from here, or ''), limit, limit_bytes
-- Answers taken(elements that are left behind these, element …)
--
-- The element that begins with `last` and those before it are in the log. It is missing after they were dropped, and where a failover
-- without REDIS_WAIT_REPLICAS set the outbox back: then elements come into the log again, with the same ids.
local elements = redis.call('LRANGE', outbox, 0, limit - 1)
local known = 0
if last ~= '' then
  for index, element in ipairs(elements) do
    if string.sub(element, 1, #last) == last then known = index end
  end
end
if known > 0 then
  redis.call('LPOP', outbox, known)
  elements = redis.call('LRANGE', outbox, 0, limit - 1)
end
local answer, bytes = {'taken', '0'}, 0
for _, element in ipairs(elements) do
  if bytes > tonumber(limit_bytes) then break end
  answer[#answer + 1] = element
  bytes = bytes + #element
end
answer[2] = string.format('%d', math.max(0, redis.call('LLEN', outbox) - #answer + 2))
return answer
