-- A list of the open rooms of one game, or of all games, shared by every script that reads or writes one. Takes `now` of the batch.
-- Gives list_of(), remembered(), put(), sweep() and keep_list().
--
-- Open is a public room in the lobby that is not locked and has a free seat. An entry is '<createdAt, 13 digits><code>': a code that is used
-- again is another entry, and entries in the order of their texts are in the order of their creation. Keys:
--   order    a sorted set without times: the entries of open rooms
--   untils   a sorted set: entries by the time until which somebody is known to be present, in milliseconds since 1970. Past it an entry
--            counts for nothing, until somebody removes it. A closed room is remembered here for CLOSED_MS
--   rooms    a hash: of each entry '<seq> <players> <maxPlayers> <game or -> <tags as JSON>', or '<seq> ' of a closed room
--   version  a text that differs after each change that a reader sees
--
-- The room lies in another slot, so processes write what they know of it. A write has the room's seq, and an older one changes nothing.
local CLOSED_MS = 15000 -- no write is longer under way
local KEPT_MS = 120000 -- longer than any lease (SERVER_PRESENT_MS of room-list.ts), so that lists of dead games leave nothing

local function list_of(order, untils, rooms, version) return {order = order, untils = untils, rooms = rooms, version = version} end

-- What the list knows of an entry: seq, and summary ('' of a closed room). Nothing where the time of the entry is past.
local function remembered(list, entry)
  local text = redis.call('HGET', list.rooms, entry)
  local ends = text and redis.call('ZSCORE', list.untils, entry)
  if not ends or tonumber(ends) <= tonumber(now) then return end
  local seq, summary = string.match(text, '^(%d+) (.*)$')
  return tonumber(seq), summary
end

local function forget(list, entries)
  if #entries == 0 then return end
  redis.call('ZREM', list.untils, unpack(entries))
  redis.call('ZREM', list.order, unpack(entries))
  redis.call('HDEL', list.rooms, unpack(entries))
end

-- Removes entries whose time is past, at most so many. Readers see the list as before.
local function sweep(list, most)
  local gone = redis.call('ZRANGEBYSCORE', list.untils, '-inf', now, 'LIMIT', 0, most)
  forget(list, gone)
  return #gone
end

-- Writes what a process knows of a room. `ends`: until when somebody is known to be present; 0: nobody.
local function put(list, entry, seq, ends, summary)
  local known_seq, known = remembered(list, entry)
  if known_seq and known_seq > tonumber(seq) then return end
  local is_listed = known and known ~= ''
  if summary == '' then
    -- One whose time is past may still stand there.
    if redis.call('ZREM', list.order, entry) == 1 then list.changed = entry .. seq end
    redis.call('HSET', list.rooms, entry, seq .. ' ')
    redis.call('ZADD', list.untils, tonumber(now) + CLOSED_MS, entry)
    return
  end
  if not is_listed then
    if tonumber(ends) <= tonumber(now) then return end
    redis.call('ZADD', list.order, 0, entry)
    redis.call('ZADD', list.untils, ends, entry)
  else redis.call('ZADD', list.untils, 'GT', ends, entry) end
  if known ~= summary then list.changed = entry .. seq end
  if known ~= summary or known_seq ~= tonumber(seq) then redis.call('HSET', list.rooms, entry, seq .. ' ' .. summary) end
end

-- Follows the writes of a call.
local function keep_list(list)
  if list.changed then redis.call('SET', list.version, now .. list.changed) end
  for _, key in pairs({list.order, list.untils, list.rooms, list.version}) do redis.call('PEXPIRE', key, KEPT_MS) end
end
