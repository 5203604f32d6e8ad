-- Writes down which accounts acted on a day, and how many requests were refused in an hour. Processes call it every few seconds.
-- KEYS active, counts, refusals
-- ARGV day, ids_text (ids of accounts, separated by blanks), refused ('<error code> <number>', separated by commas)
-- Answers noted
local ACTIVE_KEPT_SECONDS = 2 * 86400 -- the set of accounts is needed while its day lasts; `counts` keeps the number
local REFUSALS_KEPT_SECONDS = 8 * 86400
local ids = {}
for id in string.gmatch(ids_text, '%S+') do ids[#ids + 1] = id end
if #ids > 0 and redis.call('PFADD', active, unpack(ids)) == 1 then
  redis.call('EXPIRE', active, ACTIVE_KEPT_SECONDS)
  redis.call('HSET', counts, day, redis.call('PFCOUNT', active))
end
for code, number in string.gmatch(refused, '([^ ,]+) (%d+)') do redis.call('HINCRBY', refusals, code, number) end
if refused ~= '' then redis.call('EXPIRE', refusals, REFUSALS_KEPT_SECONDS) end
return {'noted'}
