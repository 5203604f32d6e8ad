-- Kicks a player, who may be the host, out of a room for an operator.
-- KEYS room
-- ARGV player_id, ttl_ms
-- Library room.lua: find_room, is_seated, kick_out, settle
-- Answers kicked(account that had the seat) not_in_room room_not_found room_ended
local found = find_room(room)
if not found then return {'room_not_found'} end
if found.phase == 'ended' then return {'room_ended'} end
if not is_seated(found, player_id) then return {'not_in_room'} end
local account_id = kick_out(found, player_id)
settle(found, ttl_ms)
return {'kicked', account_id}
