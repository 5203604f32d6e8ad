-- Reads a room's public fields, unless the room has not changed since the last change that the process knows.
-- KEYS room
-- ARGV known
-- Library room.lua: find_room, public_fields
-- Answers found(number of the last message, field, value …) same(number of the last message) room_not_found
--
-- known  '<seq> <updatedAt>' of the last change that the process knows; '' if it knows none
local found, last_number = find_room(room, 'messages')
if not found then return {'room_not_found'} end
local messages = last_number or '0'
if string.format('%d ', found.seq) .. found.updated_at == known then return {'same', messages} end
return public_fields(room, {'found', messages})
