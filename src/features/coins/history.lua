-- A page of the ledger, newest first: the entries before `before` (a seq; 0: from the newest).
-- KEYS ledger
-- ARGV before, limit
-- Answers page(entry …)
local last = redis.call('LINDEX', ledger, -1)
if not last then return {'page'} end
local seq = tonumber(string.match(last, '^%d+'))
local newest = tonumber(before) == 0 and seq or math.min(tonumber(before) - 1, seq)
-- Counted from the tail, whose seq is known, for retention may have taken entries from the head.
local stop = newest - seq - 1
local page = redis.call('LRANGE', ledger, stop - tonumber(limit) + 1, stop)
local answer = {'page'}
for index = #page, 1, -1 do answer[#answer + 1] = page[index] end
return answer
