-- Reads the elements of an outbox that the log lacks, and drops elements that the log has.
-- KEYS outbox
-- ARGV last (the begin of this outbox's last element in the log, or ''), limit, limit_bytes
-- Answers taken(number of elements left after these, element …)
--
-- The log has the element that begins with `last`, and all elements before it. The outbox lacks this element after it was dropped, or if a
-- failover without REDIS_WAIT_REPLICAS has set the outbox back. After such a failover the log gets some events again, with the same ids.
local MOST_KEPT = 64 -- most elements that the log has and the outbox keeps, because each drop waits for the disk
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
