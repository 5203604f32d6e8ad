-- Reads a room with the data of its seats.
-- KEYS room, leases
-- ARGV -
-- Library room.lua: find_room, seated_ids, seat_fields, public_fields
-- Answers room(connections, messages so far, then for each seat: player id, account, away since or '', '<seq> <private JSON>' or ''; '', then field, value …) room_not_found
local found = find_room(room)
if not found then return {'room_not_found'} end
local answer = {'room', string.format('%d', redis.call('ZCARD', leases)), redis.call('HGET', room, 'messages') or '0'}
local ids = seated_ids(found.players)
local accounts, aways, privates = seat_fields(room, ids, ':account'), seat_fields(room, ids, ':away'), seat_fields(room, ids, ':private')
for place, id in ipairs(ids) do
  for _, word in ipairs({id, accounts[place] or '', aways[place] or '', privates[place] or ''}) do answer[#answer + 1] = word end
end
answer[#answer + 1] = ''
return public_fields(room, answer)
