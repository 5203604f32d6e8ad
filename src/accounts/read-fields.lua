-- Reads fields of the caller's account. `fields` has the names of the fields, separated by blanks. The value of a field that was never set
-- is ''.
-- KEYS account
-- ARGV fields
-- Prologue check-caller.lua
-- Answers fields(value …)
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
local answer = {'fields'}
for index, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[index + 1] = value or '' end
return answer
