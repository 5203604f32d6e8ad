-- Performs one action in a room, atomically: a room never exceeds maxPlayers and never has two hosts.
-- KEYS room, seats
-- ARGV action, code, account_id, name, player_id, state, next_code, now_text, ttl_ms, expires_text
-- Shared key_game, seats_kept_seconds
-- Prologue prologue-open.lua: open_account, list_in_account, answer
-- Library head.lua
-- Library standing.lua: guest_set
-- Prelude doc.lua: read_room, seat_of, hand_seat, write_room, at
-- Answers done(doc, state, player id, is host 0|1) lobby_wanted(doc, player id, account in the seat) room_not_found forbidden not_in_room not_host room_ended room_started room_locked room_full not_enough_players invalid_request
--
-- key_game is '' for a player. A server with a key acts as the host, whoever that is: then key_game is the game of its key, or '*' if
-- the key is for all games.
local doc, state_text, doc_text = read_room()
if not doc then return {'room_not_found'} end
local players = doc.players

local function player_of(id)
  for place, player in ipairs(players) do
    if player.id == id then return player, place end
  end
end

local is_server = key_game ~= ''
local you, your_place, is_guests
if is_server then you = player_of(doc.hostId) else you, your_place, is_guests = seat_of(doc, account_id) end
-- Fields of the hash that the action sets or deletes; written after all checks.
local new_seat, free_seat

local function set(thing, field, value)
  if thing[field] == value then return 'unchanged' end
  thing[field] = value
  return 'changed'
end

local function finish()
  if doc.phase == 'ended' then return 'unchanged' end
  doc.phase, doc.endedAt = 'ended', now_text
  return 'changed'
end

local for_host = {start = true, ['end'] = true, kick = true, transfer = true, lock = true, unlock = true, state = true, rematch = true}
local in_ended_room = {leave = true, ['end'] = true, rematch = true}
local actions = {}

function actions.join()
  if doc.phase == 'playing' then return 'room_started' end
  if doc.locked then return 'room_locked' end
  if #players >= doc.maxPlayers then return 'room_full' end
  local given = redis.call('HGET', room, 'given') + 1
  you = {
    id = 'p' .. given,
    name = name ~= '' and name or 'Player ' .. given,
    ready = false,
    connected = false,
    joinedAt = now_text,
  }
  players[#players + 1] = you
  new_seat = {'given', given, you.id, account_id}
  return 'changed'
end

local function vacate(player, place)
  table.remove(players, place)
  free_seat = {player.id, player.id .. ':away'}
  if #players == 0 then
    finish()
  elseif doc.hostId == player.id then
    doc.hostId = players[1].id
  end
  return 'changed'
end

function actions.leave() return vacate(you, your_place) end

function actions.ready() return set(you, 'ready', true) end
function actions.unready() return set(you, 'ready', false) end
function actions.lock() return set(doc, 'locked', true) end
function actions.unlock() return set(doc, 'locked', false) end

function actions.start()
  if doc.phase == 'playing' then return 'unchanged' end
  if #players < doc.minPlayers then return 'not_enough_players' end
  doc.phase, doc.startedAt = 'playing', now_text
  return 'changed'
end

actions['end'] = finish

function actions.kick()
  local player, place = player_of(player_id)
  -- A host that kicks itself means to leave. A server removes any player.
  if not player or player == you and not is_server then return 'invalid_request' end
  return vacate(player, place)
end

function actions.transfer()
  if not player_of(player_id) then return 'invalid_request' end
  return set(doc, 'hostId', player_id)
end

function actions.state()
  if state == state_text then return 'unchanged' end
  state_text = state
  return 'changed'
end

function actions.rematch()
  if doc.nextCode then return 'unchanged' end
  if next_code == '' then return 'lobby_wanted' end
  doc.nextCode = next_code
  finish()
  return 'changed'
end

local function act()
  if not is_server then
    if action == 'join' and you then return 'unchanged' end
    if action ~= 'join' and not you then return 'not_in_room' end
    if for_host[action] and doc.hostId ~= you.id then return 'not_host' end
  elseif key_game ~= '*' and doc.game ~= key_game then
    return 'forbidden'
  elseif action == 'rematch' and not you and not doc.nextCode then
    -- All players have left: nobody would be the host of the next lobby.
    return 'room_ended'
  end
  if doc.phase == 'ended' and not in_ended_room[action] then return 'room_ended' end
  return actions[action]()
end

local outcome = act()
-- A server has no seat: the answer names the host's, as it is after the action.
local seat_id = is_server and doc.hostId or you and you.id
local is_host = seat_id == doc.hostId and player_of(seat_id) and '1' or '0'
if outcome == 'unchanged' then return {'done', doc_text, state_text, seat_id, is_host} end
if outcome == 'lobby_wanted' then return {outcome, doc_text, you.id, redis.call('HGET', room, you.id)} end
if outcome ~= 'changed' then return {outcome} end
if not open_account(account, creation_barred) then return {'rate_limited'} end
if is_guests then hand_seat(you, account_id) end
if new_seat then
  redis.call('HSET', room, unpack(new_seat))
  list_in_account(seats, code, seats_kept_seconds)
end
if free_seat then redis.call('HDEL', room, unpack(free_seat)) end
return answer('done', write_room(doc, state_text), state_text, seat_id, is_host)
