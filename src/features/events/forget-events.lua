-- Removes the data from events of deleted accounts, in one chunk of the log per call.
-- KEYS state, chunks, forgotten
-- ARGV -
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers none swept done
--
-- A sweep goes through the log once, up to `sweepEnd`, which was the end of the log when the sweep began. If an account is deleted during a
-- sweep, its deletion event comes after `sweepEnd`, so the next sweep removes the account's data.
if redis.call('EXISTS', forgotten) == 0 then return {'none'} end
local sweep_end, swept_to, next = unpack(redis.call('HMGET', state, 'sweepEnd', 'sweptTo', 'next'))
if not sweep_end then
  sweep_end, swept_to = next, '-1'
  redis.call('HSET', state, 'sweepEnd', sweep_end)
end
local chunk = redis.call('ZRANGEBYSCORE', chunks, '(' .. swept_to, '+inf', 'LIMIT', 0, 1)[1]
if not chunk or chunk * CHUNK_LENGTH >= tonumber(sweep_end) then
  redis.call('ZREMRANGEBYSCORE', forgotten, '-inf', sweep_end)
  redis.call('HDEL', state, 'sweepEnd', 'sweptTo')
  return {'done'}
end
local key = chunk_key(state, tonumber(chunk))
for index, entry in ipairs(redis.call('LRANGE', key, 0, -1)) do
  local told, account = string.match(entry, '^(%S+ %S+ (%S+) %S+) ')
  if told and redis.call('ZSCORE', forgotten, account) then redis.call('LSET', key, index - 1, told) end
end
redis.call('HSET', state, 'sweptTo', chunk)
return {'swept'}
