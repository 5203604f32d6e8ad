-- A room as it is kept; whether its time is over is for the reader to see in it.
-- KEYS room
-- ARGV -
-- Answers found(doc, state) room_not_found
local kept = redis.call('HMGET', room, 'doc', 'state')
if not kept[1] then return {'room_not_found'} end
return {'found', kept[1], kept[2]}
