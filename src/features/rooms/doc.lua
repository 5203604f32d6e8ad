-- A room's doc and state, read and written by every script that changes a room.
-- Needs room (a key), now and ttl_ms (arguments), and moved_in. Gives at, read_room(), seat_of() and write_room().
--
-- The state stays text throughout: cjson would lose digits and turn empty arrays into objects.
local at = tonumber(now)

local function read_room()
  local kept = redis.call('HMGET', room, 'doc', 'state')
  local doc = kept[1] and cjson.decode(kept[1])
  if not doc or doc.expiresAt <= at then return nil end
  doc.players = doc.players or {}
  return doc, kept[2], kept[1]
end

-- The seat of an account, its place, and whether it was just taken over: one that a guest took before it moved into this
-- account is this account's from now on; the room's connections know it by the guest's id still. Of several, one for each
-- of its guests, the host's counts, for without it nobody could be host; else its own, else the first.
local function seat_of(doc, account_id)
  local is_guest = {}
  for guest in string.gmatch(moved_in, '(%S+) %d+\n') do is_guest[guest] = true end
  local own, guests, host
  for place, player in ipairs(doc.players) do
    local is_own, is_guests = player.accountId == account_id, is_guest[player.accountId]
    if is_own then own = own or place end
    if is_guests then guests = guests or place end
    if (is_own or is_guests) and player.id == doc.hostId then host = place end
  end
  local place = host or own or guests
  if not place then return nil end
  local seat = doc.players[place]
  if seat.accountId == account_id then return seat, place end
  seat.guestId, seat.accountId = seat.accountId, account_id
  return seat, place, true
end

-- Numbers the change, keeps it and tells every process that watches the room.
local function write_room(doc, state_text)
  -- cjson writes an empty list as an object.
  if #doc.players == 0 then doc.players = nil end
  doc.seq = doc.seq + 1
  doc.updatedAt = at
  doc.expiresAt = at + tonumber(ttl_ms)
  local doc_text = cjson.encode(doc)
  redis.call('HSET', room, 'doc', doc_text, 'state', state_text, 'seq', doc.seq)
  redis.call('PEXPIRE', room, ttl_ms)
  redis.call('PUBLISH', room, doc.seq .. '\n' .. doc_text .. '\n' .. state_text)
  return doc_text
end
