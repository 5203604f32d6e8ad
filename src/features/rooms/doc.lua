-- A room as it is kept, for every script that changes one.
-- Needs room (a key), now, now_text, ttl_ms and expires_text (arguments), moved_in, and stands() of head.lua. Gives at,
-- read_room(), of_seats(), seat_of(), hand_seat() and write_room().
--
-- A room is a hash. `doc` is JSON of what everybody sees but for the game's state, kept as it is sent; `state` is text
-- throughout, for cjson would lose digits and turn empty arrays into objects; `head` (head.lua) is for those who need no
-- more. What nobody is shown stands by player id: whose seat it is ("p2"), and when its player's last connection ended
-- ("p2:away"); `given` is how many seats there ever were.
local at = tonumber(now)

-- The doc, the state, and the doc's text as it was read.
local function read_room()
  local head, doc_text, state_text = unpack(redis.call('HMGET', room, 'head', 'doc', 'state'))
  if not stands(head, at) then return nil end
  return cjson.decode(doc_text), state_text, doc_text
end

-- What stands under each player's id and this suffix, by place; false where nothing does.
local function of_seats(doc, suffix)
  if #doc.players == 0 then return {} end
  local fields = {}
  for place, player in ipairs(doc.players) do fields[place] = player.id .. suffix end
  return redis.call('HMGET', room, unpack(fields))
end

-- The player whose seat is an account's, its place, and whether the seat is a guest's still: one that a guest took before
-- it moved into this account is to be handed over. Of several, one for each of its guests, the host's counts, for without
-- it nobody could be host; else its own, else the first.
local function seat_of(doc, account_id)
  local is_guest = {}
  for guest in string.gmatch(moved_in, '(%S+) %d+[=*]?%d*\n') do is_guest[guest] = true end
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

-- Numbers the change, keeps it and tells every process that watches the room.
local function write_room(doc, state_text)
  doc.seq = doc.seq + 1
  doc.updatedAt, doc.expiresAt = now_text, expires_text
  for _, player in ipairs(doc.players) do player.host = player.id == doc.hostId end
  -- cjson writes an empty list as an object.
  local nobody = #doc.players == 0
  if nobody then doc.players = nil end
  local doc_text = cjson.encode(doc)
  if nobody then doc_text = string.sub(doc_text, 1, -2) .. ',"players":[]}' end
  local head = string.format('%d %s %d', doc.seq, doc.phase, at + tonumber(ttl_ms))
  redis.call('HSET', room, 'head', head, 'doc', doc_text, 'state', state_text)
  redis.call('PEXPIRE', room, ttl_ms)
  redis.call('PUBLISH', room, head .. '\n' .. doc_text .. '\n' .. state_text)
  return doc_text
end
