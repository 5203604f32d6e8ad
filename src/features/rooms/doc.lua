-- A room's doc and state, read and written by every script that changes a room.
-- Needs room (a key), now and ttl_ms (arguments). Gives at, read_room() and write_room().
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
