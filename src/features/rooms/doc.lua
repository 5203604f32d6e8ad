-- Reads and writes a room. Every script that changes a room shares this file.
-- Needs room (a key), now, now_text, ttl_ms and expires_text (arguments), moved_in, and is_alive() of head.lua. Gives at,
-- read_room(), of_seats(), seat_of(), hand_seat() and write_room().
--
-- A room is a hash:
--   head     seq, phase and expiry (head.lua), for scripts that need no more
--   doc      JSON of the public room without the game's state, as clients receive it: no process parses it to pass it on
--   state    the game's state as JSON text; no script decodes it, because cjson loses digits and turns [] into {}
--   given    number of seats given out so far
--   p2       account in the seat of player p2; not public
--   p2:away  when the last connection of player p2 ended, in milliseconds since 1970; not public
local at = tonumber(now)

-- The doc, the state's text and the doc's text; nil if the room does not exist or has expired.
local function read_room()
  local head, doc_text, state_text = unpack(redis.call('HMGET', room, 'head', 'doc', 'state'))
  if not is_alive(head, at) then return nil end
  return cjson.decode(doc_text), state_text, doc_text
end

-- Values of the fields "<player id><suffix>", in the order of doc.players; false for a field that does not exist.
local function of_seats(doc, suffix)
  if #doc.players == 0 then return {} end
  local fields = {}
  for place, player in ipairs(doc.players) do fields[place] = player.id .. suffix end
  return redis.call('HMGET', room, unpack(fields))
end

-- An account's player, its index in doc.players, and whether the seat still names a guest that moved into the account: the
-- caller then calls hand_seat(). An account holds several seats if guests of it took seats before they moved. The host's
-- seat is preferred, because otherwise no account could act as host; then the account's own seat; then the first one.
local function seat_of(doc, account_id)
  local is_guest = guest_set(moved_in)
  local owners = of_seats(doc, '')
  local own, guests, host
  for place, owner in ipairs(owners) do
    local is_own, is_guests = owner == account_id, is_guest[owner]
    if is_own then own = own or place end
    if is_guests then guests = guests or place end
    if (is_own or is_guests) and doc.players[place].id == doc.hostId then host = place end
  end
  local place = host or own or guests
  if not place then return nil end
  return doc.players[place], place, owners[place] ~= account_id
end

local function hand_seat(player, account_id) redis.call('HSET', room, player.id, account_id) end

-- Raises seq, stores the room, and publishes it to the processes that watch it.
local function write_room(doc, state_text)
  doc.seq = doc.seq + 1
  doc.updatedAt, doc.expiresAt = now_text, expires_text
  for _, player in ipairs(doc.players) do player.host = player.id == doc.hostId end
  -- cjson encodes an empty list as {}, so an empty list of players is written as text.
  local is_empty = #doc.players == 0
  if is_empty then doc.players = nil end
  local doc_text = cjson.encode(doc)
  if is_empty then doc_text = string.sub(doc_text, 1, -2) .. ',"players":[]}' end
  local head = string.format('%d %s %d', doc.seq, doc.phase, at + tonumber(ttl_ms))
  redis.call('HSET', room, 'head', head, 'doc', doc_text, 'state', state_text)
  redis.call('PEXPIRE', room, ttl_ms)
  publish(room, head .. '\n' .. doc_text .. '\n' .. state_text)
  return doc_text
end
