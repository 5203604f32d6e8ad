-- Reads a room's entry in the list of its game, or of all games.
-- KEYS rooms, untils, taken
-- ARGV entry
-- Answers listed(time until which somebody is known to be present, reserved seats) closed none
--
-- listed.lua has the format. `closed`: the list has recorded that the room is not open.
local text, ends = redis.call('HGET', rooms, entry), redis.call('ZSCORE', untils, entry)
if not text or not ends or tonumber(ends) <= tonumber(now) then return {'none'} end
if string.match(text, '^%d+ $') then return {'closed'} end
return {'listed', ends, redis.call('HGET', taken, entry) or '0'}
