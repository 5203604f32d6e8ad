-- Reads the state or the outcome of a guest's move into an account.
-- KEYS record
-- ARGV -
-- Answers open accepted(created 0|1, coins, generation, balance after) refused(reason) void
local word, details = string.match(redis.call('GET', record) or '', '^(%S+) %S+ ?(.*)$')
local answer = {word or 'void'}
for detail in string.gmatch(details or '', '%S+') do answer[#answer + 1] = detail end
return answer
