-- Reads a room, unless its seq is known_seq.
-- KEYS room
-- ARGV known_seq, now
-- Library head.lua: is_alive
-- Answers found(head, doc, state) same room_not_found
local head = redis.call('HGET', room, 'head')
if not is_alive(head, tonumber(now)) then return {'room_not_found'} end
if string.match(head, '^%d+') == known_seq then return {'same'} end
local doc, state = unpack(redis.call('HMGET', room, 'doc', 'state'))
return {'found', head, doc, state}
