-- Lists some of the rooms in which an account took a seat in the week of the key `seats`.
-- KEYS seats
-- ARGV cursor (0 at first), count
-- Answers codes(next cursor, 0 after the last page; code …)
local found = redis.call('SSCAN', seats, cursor, 'COUNT', count)
local answer = {'codes', found[1]}
for index, code in ipairs(found[2]) do answer[index + 2] = code end
return answer
