-- Finds the caller's seat in a room, unless the room has ended.
-- KEYS room
-- ARGV account_id
-- Prologue check-caller.lua
-- Library standing.lua: guest_set
-- Library room.lua: find_room, seat_of
-- Answers seated(player id, account in the seat) room_not_found not_in_room room_ended
local found = find_room(room)
if not found then return {'room_not_found'} end
local id = seat_of(found, account_id, guest_set(moved_in))
if not id then return {'not_in_room'} end
if found.phase == 'ended' then return {'room_ended'} end
return {'seated', id, redis.call('HGET', room, id .. ':account')}
