-- Adds the coins of a correction, once, to a server key's sum of the day, unless the sum would be too high.
-- KEYS corrected
-- ARGV key_id, correction (a hash), coins, most ('' : any), kept_seconds
-- Answers reserved known full(coins so far)
local field = key_id .. ' ' .. correction
if redis.call('HEXISTS', corrected, field) == 1 then return {'known'} end
local so_far = tonumber(redis.call('HGET', corrected, key_id) or '0')
if most ~= '' and so_far + coins > tonumber(most) then return {'full', string.format('%.0f', so_far)} end
redis.call('HSET', corrected, key_id, string.format('%.0f', so_far + coins), field, coins)
redis.call('EXPIRE', corrected, kept_seconds)
return {'reserved'}
