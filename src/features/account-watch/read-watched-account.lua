-- Reads what a watcher of an account sees. `fields` has the names of the account's fields, separated by blanks. The value of a field that
-- was never set is ''.
-- KEYS ledger, account
-- ARGV fields
-- Prologue check-caller.lua
-- Answers account(balance, value …)
local last = redis.call('LINDEX', ledger, -1)
local answer = {'account', last and string.match(last, '<entry: balance>') or '0'}
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
for index, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[index + 2] = value or '' end
return answer
