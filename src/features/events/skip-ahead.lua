-- If a reader's position is beyond the end of the log, a failover may have lost the events before it. Moves the end of the log ahead to
-- that position.
-- KEYS state
-- ARGV position, most (positions that the log may jump)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers moved refused
local next = tonumber(redis.call('HGET', state, 'next') or '0')
local target = math.ceil(tonumber(position) / CHUNK_LENGTH) * CHUNK_LENGTH
if target > next + tonumber(most) then return {'refused'} end
if target > next then redis.call('HSET', state, 'next', position_text(target), 'readable', position_text(target)) end
return {'moved'}
