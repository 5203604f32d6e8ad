-- Performs one action of the lobby in a room. It is atomic, so a room never has more players than maxPlayers, and never has two hosts.
-- KEYS room, seats
-- ARGV action, code, account_id, seat_id, order, tab, is_whole, name, player_id, next_code, settings, now_text, ttl_ms
-- Shared key_game, seats_kept_seconds
-- Prologue open-account.lua: open_account, list_in_account, answer
-- Library standing.lua: guest_set
-- Library room.lua: find_room_of, data_limit, seat_fields, public_fields, seat_of, actor_in, is_done, note_order, note_presence, set, keep, drop, was_kicked, kick_out, start_room, take_seat, vacate, settle, reply
-- Answers done(seq, player id, is host 0|1, private, field, value …) replayed(as done) lobby_wanted(player id, account in the seat, 1 if it starts when full, 1 if the grace of seats is that of a match, field, value …) wrong_settings(field) room_not_found forbidden not_in_room not_host kicked room_ended room_started room_locked room_full not_enough_players invalid_request
--
-- key_game  for a server key its game, or '*' for all games; '' for a player. A server acts in the host's place (actor_in of room.lua)
-- seat_id   the seat for which the caller's channel was welcomed, or '' (find_room_of of room.lua)
-- settings  the settings that change: a line with the name and a line with the value, in turn
local found, locked_before = find_room_of(room, seat_id, 'locked')
if not found then return {'room_not_found'} end
local is_server = key_game ~= ''
local actor, refusal, is_guests

if action == 'join' then
  actor, is_guests = seat_of(found, account_id, guest_set(moved_in))
  if actor then
    note_presence(found, actor, is_whole)
    settle(found, ttl_ms)
    return reply('done', found, actor, is_whole)
  end
else
  actor, refusal = actor_in(found, account_id, guest_set(moved_in), key_game)
  if not actor then return {refusal} end
  is_guests = refusal
  if is_done(found, actor, order, tab) then return reply('replayed', found, actor, is_whole) end
end

local function set_ready(ready)
  local before, connected, rest = string.match(redis.call('HGET', room, actor), '<seat: ready, connected, joined_at..name>')
  if before ~= ready then set(found, actor, string.format('<seat: ready, connected, joined_at..name>', ready, connected, rest)) end
end

local function set_locked(locked)
  if locked_before ~= locked then set(found, 'locked', locked) end
end

local for_host = {start = 1, ['end'] = 1, kick = 1, transfer = 1, lock = 1, unlock = 1, settings = 1, rematch = 1}
local in_ended_room = {leave = 1, ['end'] = 1, rematch = 1}
local actions = {}

function actions.join()
  if was_kicked(found, account_id, guest_set(moved_in)) then return 'kicked' end
  if found.phase == 'playing' then return 'room_started' end
  if locked_before == 'true' then return 'room_locked' end
  if count_seated(found) >= found.most then return 'room_full' end
  actor = take_seat(found, account_id, name, now_text)
end

function actions.leave() vacate(found, {[actor] = true}) end

function actions.ready() set_ready('true') end
function actions.unready() set_ready('false') end
function actions.lock() set_locked('true') end
function actions.unlock() set_locked('false') end

function actions.start()
  if found.phase == 'playing' then return end
  if count_seated(found) < tonumber(redis.call('HGET', room, 'minPlayers')) then return 'not_enough_players' end
  start_room(found)
end

actions['end'] = function() end_room(found) end

function actions.kick()
  -- A host cannot kick itself, but has to leave. A server may kick any player.
  if not is_seated(found, player_id) or player_id == actor then return 'invalid_request' end
  kick_out(found, player_id)
end

function actions.transfer()
  -- Nobody can become the host of a server's room, because a room with a host ends when all players leave, and a server's room must not.
  if not found.host or not is_seated(found, player_id) then return 'invalid_request' end
  if found.host ~= player_id then set_host(found, player_id) end
end

-- Whether a player's public data is longer than `limit`. The more seats a room has, the less data each player may have (data_limit of
-- room.lua), so a change of maxPlayers is refused if a player has more data.
local function has_data_above(limit)
  for _, data in ipairs(seat_fields(room, seated_ids(found.players), '.data')) do
    if data and #data > limit then return true end
  end
  return false
end

function actions.settings()
  if found.phase ~= 'lobby' then return 'room_started' end
  local new, before = {}, {}
  for field, value in string.gmatch(settings, '([^\n]+)\n([^\n]+)') do new[field] = value end
  before.minPlayers, before.maxPlayers, before.public, before.tags, before.writers, before.seatGraceSeconds =
    unpack(redis.call('HMGET', room, 'minPlayers', 'maxPlayers', 'public', 'tags', 'writers', 'seatGraceSeconds'))
  local least, most = tonumber(new.minPlayers or before.minPlayers), tonumber(new.maxPlayers or before.maxPlayers)
  if least > most then return 'wrong_settings', 'minPlayers' end
  if most < count_seated(found) or has_data_above(data_limit(most)) then return 'wrong_settings', 'maxPlayers' end
  for field, value in pairs(new) do
    if before[field] ~= value then set(found, field, value) end
  end
  if new.seatGraceSeconds then drop(found, 'graceOfMatch') end
end

local next_is_wanted = false

function actions.rematch()
  if redis.call('HEXISTS', room, 'nextCode') == 1 then return end
  if next_code == '' then
    next_is_wanted = true
    return
  end
  set(found, 'nextCode', next_code)
  end_room(found)
end

local function refused()
  if for_host[action] and not is_server and found.host ~= actor then return 'not_host' end
  -- A server's rematch is refused if all players have left, because nobody can be the host of the next lobby.
  if action == 'rematch' and is_server and found.host and not is_seated(found, found.host) and redis.call('HEXISTS', room, 'nextCode') == 0 then
    return 'room_ended'
  end
  if found.phase == 'ended' and not in_ended_room[action] then return 'room_ended' end
  return actions[action]()
end

local word, field = refused()
if word then return {word, field} end
if next_is_wanted then
  local host = is_server and found.host or actor
  local account_in_seat = host ~= 'server' and redis.call('HGET', room, host .. ':account') or ''
  local starts_when_full, of_match = unpack(redis.call('HMGET', room, 'startWhenFull', 'graceOfMatch'))
  return public_fields(room, {'lobby_wanted', host, account_in_seat, starts_when_full or '', of_match or ''})
end
local changes = #found.public > 0
if action ~= 'join' and action ~= 'leave' then note_presence(found, actor, is_whole) end
-- If the act changes nothing and has no order to record, nothing else is written.
if not changes and order == '' then
  settle(found, ttl_ms)
  return reply('done', found, actor, is_whole)
end
if not open_account(account, creation_barred) then return {'rate_limited'} end
if is_guests and changes then keep(found, actor .. ':account', account_id) end
-- After `leave` nobody has the seat, so the order is not recorded.
if action ~= 'leave' then note_order(found, actor, order, tab) end
if action == 'join' then list_in_account(seats, code, seats_kept_seconds) end
settle(found, ttl_ms)
return answer(unpack(reply('done', found, actor, is_whole)))
