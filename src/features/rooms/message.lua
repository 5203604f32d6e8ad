-- Sends a message to the sockets of a room. Redis does not store messages, so a player without a socket does not get the message.
-- KEYS room
-- ARGV account_id, seat_id, order, tab, is_whole, to, data, ttl_ms
-- Shared key_game
-- Prologue check-caller.lua
-- Library standing.lua: guest_set
-- Library room.lua: find_room_of, seated_ids, seated_set, seat_fields, actor_in, is_done, note_order, note_presence, keep, settle, reply
-- Answers done(seq, player id, is host 0|1, private, away, field, value …) replayed(as done) unknown_seat(player id) room_not_found forbidden not_in_room room_ended
--
-- to    the receivers: player ids and 'server', separated by blanks; '' for all sockets of the room
-- away  in the answer: those of the receivers who have no welcomed channel, separated by blanks. Without `to` the other players count
local found, last_number, server_here = find_room_of(room, seat_id, 'messages', 'server:here')
if not found then return {'room_not_found'} end
local actor, refusal = actor_in(found, account_id, guest_set(moved_in), key_game)
if not actor then return {refusal} end

local function answer_of(word)
  local receivers, away = seated_ids(to == '' and found.players or to), {}
  local records = seat_fields(room, receivers, '')
  for place, id in ipairs(receivers) do
    local is_here
    if id == 'server' then is_here = server_here
    else is_here = records[place] and string.match(records[place], '<seat: connected>') == 'true' end
    if not is_here and (to ~= '' or id ~= actor) then away[#away + 1] = id end
  end
  local words = reply(word, found, actor, is_whole)
  table.insert(words, 6, table.concat(away, ' '))
  return words
end

if is_done(found, actor, order, tab) then return answer_of('replayed') end
if found.phase == 'ended' then return {'room_ended'} end
local is_taken = to ~= '' and seated_set(found)
for id in string.gmatch(to, '%S+') do
  if id ~= 'server' and not is_taken[id] then return {'unknown_seat', id} end
end
local number = string.format('%d', (last_number or 0) + 1)
local expires_at = string.format('%d', tonumber(now) + tonumber(ttl_ms))
keep(found, 'messages', number)
keep(found, 'expiresAt', expires_at)
note_order(found, actor, order, tab)
note_presence(found, actor, is_whole)
settle(found, ttl_ms)
redis.call('PEXPIRE', room, ttl_ms)
publish(room, table.concat({'message', number, actor, now, to, expires_at, data}, '\n'))
return answer_of('done')
