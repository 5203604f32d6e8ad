-- Finds the seats that belong to one of the accounts `owners` in a room.
-- KEYS room
-- ARGV owners (account ids, separated by blanks)
-- Library room.lua: find_room, seated_ids, seat_fields
-- Answers seats(game or '', phase, player id, the player's record …) none
local found = find_room(room)
if not found then return {'none'} end
local is_owner = {}
for owner in string.gmatch(owners, '%S+') do is_owner[owner] = true end

local answer, ids = {'seats', found.game or '', found.phase}, seated_ids(found.players)
for place, owner in ipairs(seat_fields(room, ids, ':account')) do
  if is_owner[owner] then
    answer[#answer + 1] = ids[place]
    answer[#answer + 1] = redis.call('HGET', room, ids[place])
  end
end
return #answer > 3 and answer or {'none'}
