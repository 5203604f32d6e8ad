-- Lists the games on whose boards an account has an entry.
-- KEYS boards
-- ARGV -
-- Answers boards(game …)
local answer = {'boards'}
for index, game in ipairs(redis.call('SMEMBERS', boards)) do answer[index + 1] = game end
return answer
