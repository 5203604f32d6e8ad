-- Changes the player's name on the seats that belong to one of the accounts `owners` in a room.
-- KEYS room
-- ARGV owners (separated by blanks), name (JSON text), ttl_ms
-- Library room.lua: find_room, seated_ids, seat_fields, set, settle
-- Answers renamed(seats) none
local found = find_room(room)
if not found then return {'none'} end
local ids = seated_ids(found.players)
local accounts, renamed = seat_fields(room, ids, ':account'), 0
for place, id in ipairs(ids) do
  if string.find(' ' .. owners .. ' ', ' ' .. accounts[place] .. ' ', 1, true) then
    local ready, connected, joined_at, before = string.match(redis.call('HGET', room, id), '<seat>')
    if ready and before ~= name then
      set(found, id, string.format('<seat>', ready, connected, joined_at, name))
      renamed = renamed + 1
    end
  end
end
if renamed == 0 then return {'none'} end
settle(found, ttl_ms)
return {'renamed', string.format('%d', renamed)}
