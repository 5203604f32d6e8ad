-- Frees the seats of deleted accounts in a room, as if the players had left, and removes the accounts from the kicked accounts.
-- KEYS room
-- ARGV owners (account ids, separated by blanks), ttl_ms
-- Library room.lua: find_room, seated_ids, seat_fields, vacate, keep, settle
-- Answers vacated none
local found, kicked = find_room(room, 'kicked')
if not found then return {'none'} end
local is_gone = {}
for owner in string.gmatch(owners, '%S+') do is_gone[owner] = true end

for owner in pairs(is_gone) do
  if kicked and string.find(kicked, ' ' .. owner .. ' ', 1, true) then
    kicked = string.gsub(kicked, '(%S+) ', function(id) if id == owner then return '' end end)
    keep(found, 'kicked', kicked)
  end
end
local is_leaving, ids = {}, seated_ids(found.players)
for place, owner in ipairs(seat_fields(room, ids, ':account')) do
  if is_gone[owner] then is_leaving[ids[place]] = true end
end
if next(is_leaving) then vacate(found, is_leaving) end
settle(found, ttl_ms)
return {next(is_leaving) and 'vacated' or 'none'}
