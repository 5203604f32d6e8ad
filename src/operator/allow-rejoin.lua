-- Lets an account rejoin a room from which it was kicked.
-- KEYS room
-- ARGV account_id, ttl_ms
-- Library room.lua: find_room, keep, kicked_accounts, settle
-- Answers pardoned none room_not_found
local found = find_room(room)
if not found then return {'room_not_found'} end
local kicked = kicked_accounts(found)
local left = string.gsub(kicked, '(%S+) ', function(id) if id == account_id then return '' end end)
if left == kicked then return {'none'} end
keep(found, 'kicked', left)
settle(found, ttl_ms)
return {'pardoned'}
