-- Ends a room for an operator, in any phase.
-- KEYS room
-- ARGV now_text, ttl_ms, expires_text
-- Library head.lua
-- Prelude doc.lua: read_room, write_room
-- Answers ended(doc, state) unchanged room_not_found
local moved_in = ''
local doc, state_text = read_room()
if not doc then return {'room_not_found'} end
if doc.phase == 'ended' then return {'unchanged'} end
doc.phase, doc.endedAt = 'ended', now_text
return {'ended', write_room(doc, state_text), state_text}
