-- Subtracts the coins of a correction that did not happen from a server key's sum of the day.
-- KEYS corrected
-- ARGV key_id, correction (a hash)
-- Answers given_back
local field = key_id .. ' ' .. correction
local coins = redis.call('HGET', corrected, field)
if coins then
  redis.call('HDEL', corrected, field)
  redis.call('HSET', corrected, key_id, string.format('%.0f', redis.call('HGET', corrected, key_id) - coins))
end
return {'given_back'}
