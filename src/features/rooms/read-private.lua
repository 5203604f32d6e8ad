-- Reads the private part of the caller's seat, and the last order of one of its tabs.
-- KEYS room
-- ARGV account_id, player_id, tab
-- Prologue check-caller.lua
-- Library room.lua: find_room, last_order
-- Answers private('<seq> <JSON>' or '', order) room_not_found not_in_room
local found = find_room(room)
if not found then return {'room_not_found'} end
local owner, private = unpack(redis.call('HMGET', room, player_id .. ':account', player_id .. ':private'))
if owner ~= account_id then return {'not_in_room'} end
return {'private', private or '', (last_order(found, player_id, tab))}
