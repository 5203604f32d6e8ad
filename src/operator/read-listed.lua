-- Reads what the list of a game, or of all games, has of a room.
-- KEYS rooms, untils, taken
-- ARGV entry
-- Answers listed(until when somebody is known to be present, reserved seats) closed none
--
-- listed.lua has the format. `closed`: the list knows that the room is not open.
local text, ends = redis.call('HGET', rooms, entry), redis.call('ZSCORE', untils, entry)
if not text or not ends or tonumber(ends) <= tonumber(now) then return {'none'} end
if string.match(text, '^%d+ $') then return {'closed'} end
return {'listed', ends, redis.call('HGET', taken, entry) or '0'}
