-- Reads the fields of the caller's account, and its move record. `fields` has their names, separated by blanks. A field that was never set
-- is ''.
-- KEYS account, ledger
-- ARGV fields
-- Prologue prologue-check.lua: moved_in, generation
-- Answers facts(guests that moved in, generation, balance, value …)
local last = redis.call('LINDEX', ledger, -1)
local answer = {'facts', moved_in, generation, last and string.match(last, '^%d+[ :](%d+)') or '0'}
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
for _, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[#answer + 1] = value or '' end
return answer
