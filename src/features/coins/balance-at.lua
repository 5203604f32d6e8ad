-- Finds the last ledger entry that was written at or before a time. The entries are in the order of their times, except for differences
-- between the clocks of the service's processes.
-- KEYS ledger
-- ARGV at (milliseconds since 1970)
-- Answers entry(entry) before(oldest entry) none
local low, high = 0, redis.call('LLEN', ledger) - 1
if high < 0 then return {'none'} end
local function written_at(place) return tonumber(string.match(redis.call('LINDEX', ledger, place), '<entry: at>'), 36) end
local limit = tonumber(at)
if written_at(0) > limit then return {'before', redis.call('LINDEX', ledger, 0)} end
while low < high do
  local middle = math.ceil((low + high) / 2)
  if written_at(middle) <= limit then low = middle else high = middle - 1 end
end
return {'entry', redis.call('LINDEX', ledger, low)}
