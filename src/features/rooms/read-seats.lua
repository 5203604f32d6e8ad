-- Finds the seats that some accounts have in a room.
-- KEYS room
-- ARGV owners (account ids, separated by blanks), now
-- Library head.lua: is_alive
-- Answers seats(the public room without its state as JSON, player id …) none
--
-- The owners of the seats are fields of the room (doc.lua), so no doc is decoded: that of 64 players takes a quarter of a millisecond, and
-- an account may have left hundreds of rooms.
if not is_alive(redis.call('HGET', room, 'head'), tonumber(now)) then return {'none'} end
local is_owner = {}
for owner in string.gmatch(owners, '%S+') do is_owner[owner] = true end

-- HVALS and HKEYS give the fields in the same order.
local seats, keys = {}, nil
for place, value in ipairs(redis.call('HVALS', room)) do
  if is_owner[value] then
    keys = keys or redis.call('HKEYS', room)
    if string.find(keys[place], '^p%d+$') then seats[#seats + 1] = keys[place] end
  end
end
if #seats == 0 then return {'none'} end
return {'seats', redis.call('HGET', room, 'doc'), unpack(seats)}
