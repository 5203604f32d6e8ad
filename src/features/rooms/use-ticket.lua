-- Marks a ticket as used, if the ticket's account still has the seat and the room belongs to the game of the server key.
-- KEYS room, used
-- ARGV player_id, account_id, key_game, kept_ms
-- Library room.lua: find_room
-- Answers used bad_token forbidden
--
-- key_game  the game of the server key, or '*' for all games
local found = find_room(room)
if not found or found.phase == 'ended' then return {'bad_token'} end
if key_game ~= '*' and found.game ~= key_game then return {'forbidden'} end
if redis.call('HGET', room, player_id .. ':account') ~= account_id then return {'bad_token'} end
if not redis.call('SET', used, '', 'NX', 'PX', kept_ms) then return {'bad_token'} end
return {'used'}
