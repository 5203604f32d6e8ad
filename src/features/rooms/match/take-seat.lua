-- Seats the caller of a match in a room, and creates the room if it does not exist yet. A room never has more players than seats.
-- KEYS room, seats
-- ARGV code, account_id, created_at, may (create, join or see), fields, name, now_text, ttl_ms
-- Shared seats_kept_seconds
-- Prologue open-account.lua: open_account, list_in_account, answer
-- Library standing.lua: guest_set
-- Library room.lua: find_room, seated_ids, seat_fields, count_seated, seat_of, note_presence, was_kicked, take_seat, settle, reply
-- Answers created(accounts with seats, seq, player id, is host 0|1, private, field, value …) joined(as created) seated(1 if the caller created it, then as created) room_not_found other not_in_room(seq) kicked(seq) room_ended(seq) room_started(seq) room_locked(seq) room_full(seq)
--
-- created_at  when the room of the reservation was created: a later room may have the same code
-- may         create: the room may be created. join: the caller may take a seat. see: the script only reports whether the caller has a seat
-- fields      the fields of the new room: a line with the name and a line with the text, in turn
-- name        the player's name as JSON text, or ''
local found, room_created_at, locked, public, by_match = find_room(room, 'createdAt', 'locked', 'public', 'byMatch')
local is_guest = guest_set(moved_in)

local function owners() return table.concat(seat_fields(room, seated_ids(found.players), ':account'), ' ') end

local function answer_of(word, fact, id)
  local words = reply(word, found, id, '1')
  table.insert(words, 2, fact)
  return words
end

if not found then
  if may ~= 'create' then return {'room_not_found'} end
  if not open_account(account, creation_barred) then return {'rate_limited'} end
  redis.call('DEL', room)
  local words = {}
  for line in string.gmatch(fields, '([^\n]*)\n') do words[#words + 1] = line end
  redis.call('HSET', room, unpack(words))
  redis.call('HSET', room, 'given', 1, 'p1:account', account_id, 'p1:acted', now)
  redis.call('PEXPIRE', room, ttl_ms)
  list_in_account(seats, code, seats_kept_seconds)
  count_today('rooms', 1)
  found = find_room(room)
  return answer(unpack(answer_of('created', owners(), 'p1')))
end
if room_created_at ~= created_at then return {'other'} end
local id = seat_of(found, account_id, is_guest)
if id and found.phase ~= 'ended' then
  note_presence(found, id, '1')
  settle(found, ttl_ms)
  return answer_of('seated', id == 'p1' and by_match == '1' and '1' or '0', id)
end

local function refused()
  if may == 'see' then return 'not_in_room' end
  if found.phase == 'ended' then return 'room_ended' end
  if was_kicked(found, account_id, is_guest) then return 'kicked' end
  if found.phase == 'playing' then return 'room_started' end
  -- A private room is refused too, because a match must not seat strangers in a room that has become private since the reservation.
  if locked == 'true' or public ~= 'true' then return 'room_locked' end
  if count_seated(found) >= found.most then return 'room_full' end
end

local word = refused()
if word then return {word, string.format('%d', found.seq)} end
if not open_account(account, creation_barred) then return {'rate_limited'} end
id = take_seat(found, account_id, name, now_text)
list_in_account(seats, code, seats_kept_seconds)
settle(found, ttl_ms)
return answer(unpack(answer_of('joined', owners(), id)))
