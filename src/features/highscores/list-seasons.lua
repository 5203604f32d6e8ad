-- Lists the seasons of a game that have a board, latest first.
-- KEYS seasons
-- ARGV -
-- Answers seasons(season …)
local answer = {'seasons'}
for index, season in ipairs(redis.call('ZREVRANGE', seasons, 0, -1)) do answer[index + 1] = season end
return answer
