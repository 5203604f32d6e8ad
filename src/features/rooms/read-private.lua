-- Reads what only one player sees, and the last order of a tab of its.
-- KEYS room
-- ARGV player_id, tab
-- Library room.lua: find_room, last_order
-- Answers private('<seq> <JSON>' or '', order) room_not_found
local found = find_room(room)
if not found then return {'room_not_found'} end
return {'private', redis.call('HGET', room, player_id .. ':private') or '', last_order(found, player_id, tab)}
