-- Gives a guest whose move was refused or is void the move record back that it had, if it is still frozen for this move.
-- KEYS moves
-- ARGV move_id
-- Library frozen.lua: is_frozen
-- Answers thawed gone
if not is_frozen(moves, move_id) then return {'gone'} end
local before = string.match(redis.call('GET', moves), '^[^\n]*\n(.*)$')
if before == '' then redis.call('DEL', moves) else redis.call('SET', moves, before) end
return {'thawed'}
