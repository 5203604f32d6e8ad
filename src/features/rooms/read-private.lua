-- Reads a player's private part, and the last order of one of the player's tabs. The seat must be the caller's.
-- KEYS room
-- ARGV account_id ('' for a server), player_id, tab
-- Prologue prologue-check.lua
-- Library room.lua: find_room, last_order
-- Answers private('<seq> <JSON>' or '', order) room_not_found not_in_room
local found = find_room(room)
if not found then return {'room_not_found'} end
local order = last_order(found, player_id, tab)
if account_id == '' then return {'private', '', order} end
local owner, private = unpack(redis.call('HMGET', room, player_id .. ':account', player_id .. ':private'))
if owner ~= account_id then return {'not_in_room'} end
return {'private', private or '', order}
