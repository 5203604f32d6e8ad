-- Ends a room for an operator, in any phase.
-- KEYS room
-- ARGV ttl_ms
-- Library room.lua: find_room, public_fields, end_room, settle
-- Answers ended(field, value …) unchanged room_not_found
local found = find_room(room)
if not found then return {'room_not_found'} end
if found.phase == 'ended' then return {'unchanged'} end
end_room(found)
settle(found, ttl_ms)
return public_fields(room, {'ended'})
