-- Frees the seats of deleted accounts in a room, as if they had left.
-- KEYS room
-- ARGV owners (account ids, separated by blanks), now_text, ttl_ms, expires_text
-- Library head.lua
-- Prelude doc.lua: read_room, of_seats, write_room
-- Answers vacated none
local is_gone = {}
for owner in string.gmatch(owners, '%S+') do is_gone[owner] = true end

-- Most rooms that the accounts took seats in have ended, or the seats were given up since: no doc is decoded for them.
local has_seat = false
for _, value in ipairs(redis.call('HVALS', room)) do has_seat = has_seat or is_gone[value] end
if not has_seat then return {'none'} end
local doc, state_text = read_room()
if not doc then return {'none'} end

local seated, staying, freed = of_seats(doc, ''), {}, {}
local is_host_staying = false
for place, player in ipairs(doc.players) do
  if is_gone[seated[place]] then
    freed[#freed + 1], freed[#freed + 2] = player.id, player.id .. ':away'
  else
    staying[#staying + 1] = player
    is_host_staying = is_host_staying or player.id == doc.hostId
  end
end
if #freed == 0 then return {'none'} end

doc.players = staying
if #staying == 0 then
  if doc.phase ~= 'ended' then doc.phase, doc.endedAt = 'ended', now_text end
elseif not is_host_staying then
  doc.hostId = staying[1].id
end
redis.call('HDEL', room, unpack(freed))
write_room(doc, state_text)
return {'vacated'}
