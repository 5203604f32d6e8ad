-- Reads what a list of rooms shows operators of a room. It reads no text that players wrote.
-- KEYS room
-- ARGV -
-- Library room.lua: find_room, seated_ids, seat_fields
-- Answers row(game or '', phase, taken seats, players with a connection, seats, locked, public, is a server's room 0|1, server has a connection 0|1, created at, updated at, expires at) room_not_found
local found, locked, public, server, created_at, expires_at = find_room(room, 'locked', 'public', 'server:here', 'createdAt', 'expiresAt')
if not found then return {'room_not_found'} end
local ids, present = seated_ids(found.players), 0
for _, record in ipairs(seat_fields(room, ids, '')) do
  if string.match(record, '<seat: connected>') == 'true' then present = present + 1 end
end
local function figure(number) return string.format('%d', number) end
return {
  'row', found.game or '', found.phase, figure(#ids), figure(present), figure(found.most), locked, public,
  found.host and '0' or '1', server and '1' or '0', created_at, found.updated_at, expires_at,
}
