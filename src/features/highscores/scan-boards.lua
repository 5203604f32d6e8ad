-- Lists some of the games on whose boards the caller has an entry.
-- KEYS boards
-- ARGV cursor (0 at first), count
-- Prologue prologue-check.lua
-- Answers boards(next cursor, 0 after the last page; game …)
local found = redis.call('SSCAN', boards, cursor, 'COUNT', count)
local answer = {'boards', found[1]}
for index, game in ipairs(found[2]) do answer[index + 2] = game end
return answer
