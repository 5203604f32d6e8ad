-- Drops the oldest chunks of the log if their last event happened before a time.
-- KEYS state, chunks
-- ARGV before (microseconds since 1970), most (chunks to drop in this call)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers dropped(chunks)
local dropped = 0
while dropped < tonumber(most) do
  local chunk = redis.call('ZRANGE', chunks, 0, 0)[1]
  if not chunk then break end
  local last = redis.call('LINDEX', chunk_key(state, tonumber(chunk)), -1)
  if last and tonumber(string.match(last, '^%S+ (%w+)'), 36) >= tonumber(before) then break end
  redis.call('UNLINK', chunk_key(state, tonumber(chunk)))
  redis.call('ZREM', chunks, chunk)
  dropped = dropped + 1
  -- If the newest chunk is dropped, the next event has to begin a new chunk, because the first entry of a chunk must have the chunk's first
  -- position.
  local next, readable = unpack(redis.call('HMGET', state, 'next', 'readable'))
  local following = (tonumber(chunk) + 1) * CHUNK_LENGTH
  if tonumber(next) < following then
    redis.call('HSET', state, 'next', position_text(following))
    if readable == next then redis.call('HSET', state, 'readable', position_text(following)) end
  end
end
return {'dropped', position_text(dropped)}
