-- Fields of the caller's account, named with blanks between them; one that was never set reads as ''.
-- KEYS account
-- ARGV fields
-- Answers fields(value …)
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
local answer = {'fields'}
for index, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[index + 1] = value or '' end
return answer
