-- Reads a page of the operators' log, the newest entry first.
-- KEYS log
-- ARGV before (the page ends before the entry with this number; 0: it begins with the newest), limit
-- Answers page(number of the first entry on the page, entry …)
local last = redis.call('LLEN', log)
if tonumber(before) > 0 then last = math.min(last, before - 1) end
local answer = {'page', string.format('%.0f', last)}
if last == 0 then return answer end
local entries = redis.call('LRANGE', log, math.max(0, last - limit), last - 1)
for index = #entries, 1, -1 do answer[#answer + 1] = entries[index] end
return answer
