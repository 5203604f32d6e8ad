-- A list of the open rooms of one game, or of all games, shared by every script that reads or writes one. Takes `now` of the batch.
-- Gives list_of(), remembered(), forget(), put(), sweep(), keep_list(), hash_of(), seats_of(), release(), reserve() and lapse().
--
-- A room is open if it is public, in the lobby, not locked, and has a free seat. list-model.ts has the formats of entries and rooms. Keys:
--   order    a sorted set without times: the entries of open rooms
--   untils   a sorted set: entries by the time until which somebody is known to be present, in milliseconds since 1970. After that time an
--            entry is ignored, and later removed. A closed room is remembered here for CLOSED_MS
--   rooms    a hash: by entry the seq and the summary of the room, '' for a closed one
--   version  a text that differs after each change that a reader sees
-- Only the list of a game has these keys, for quick matches:
--   free      a sorted set without times: '<hash><entry>' of rooms with a seat that is neither taken nor reserved, twice: with the hash of the
--             tags, and with that of tags and seats
--   reserved  a sorted set: '<entry> <account>' by the time at which the reservation ends
--   taken     a hash: how many seats of an entry are reserved
-- A match may reserve seats of a room that is about to be created: it has the seq 0, and is not in `order`.
--
-- The room is in another slot, so processes write its state into the list. A write has the room's seq, and an older seq changes nothing.
local CLOSED_MS = 15000 -- no write takes longer to arrive
local KEPT_MS = 120000 -- longer than any lease (SERVER_PRESENT_MS of room-list.ts), so that lists of dead games leave nothing

-- `matches`: '1' for the list of a game.
local function list_of(order, untils, rooms, version, free, reserved, taken, matches)
  return {
    order = order, untils = untils, rooms = rooms, version = version,
    free = matches == '1' and free, reserved = reserved, taken = taken,
  }
end

-- The tags and seats that a match asks for, as a hash of fixed length in front of a member. `most`: '' for any number of seats.
local function hash_of(tags, most) return string.sub(redis.sha1hex(most .. tags), 1, 16) end
local function seats_of(summary) return string.match(summary, '<summary: players, max_players, tags>') end

local function set_free(list, entry, summary)
  if not list.free then return end
  local players, most, tags = seats_of(summary)
  local reserved = tonumber(redis.call('HGET', list.taken, entry) or 0)
  local any, exact = hash_of(tags, '') .. entry, hash_of(tags, most) .. entry
  if most - players > reserved then redis.call('ZADD', list.free, 0, any, 0, exact)
  else redis.call('ZREM', list.free, any, exact) end
end

local function unset_free(list, entry, summary)
  if not list.free or not summary or summary == '' then return end
  local _, most, tags = seats_of(summary)
  redis.call('ZREM', list.free, hash_of(tags, '') .. entry, hash_of(tags, most) .. entry)
end

local function forget(list, entries)
  if #entries == 0 then return end
  if list.free then
    for place, text in ipairs(redis.call('HMGET', list.rooms, unpack(entries))) do
      if text then unset_free(list, entries[place], string.match(text, '<listed: summary>')) end
    end
    redis.call('HDEL', list.taken, unpack(entries))
  end
  redis.call('ZREM', list.untils, unpack(entries))
  redis.call('ZREM', list.order, unpack(entries))
  redis.call('HDEL', list.rooms, unpack(entries))
end

-- The seq and the summary of an entry ('' for a closed room). An entry past its time is removed.
local function remembered(list, entry)
  local text = redis.call('HGET', list.rooms, entry)
  if not text then return end
  local ends = redis.call('ZSCORE', list.untils, entry)
  if not ends or tonumber(ends) <= tonumber(now) then return forget(list, {entry}) end
  local seq, summary = string.match(text, '<listed>')
  return tonumber(seq), summary
end

-- Removes at most `most` entries past their time. Readers see no difference.
local function sweep(list, most)
  local gone = redis.call('ZRANGEBYSCORE', list.untils, '-inf', now, 'LIMIT', 0, most)
  forget(list, gone)
  return #gone
end

-- Writes a room's state. `ends`: the time until which somebody is known to be present; 0: nobody is.
local function put(list, entry, seq, ends, summary)
  local known_seq, known = remembered(list, entry)
  if known_seq and known_seq > tonumber(seq) then return end
  local is_listed = known_seq and known_seq > 0 and known ~= ''
  if summary == '' then
    if redis.call('ZREM', list.order, entry) == 1 then list.changed = entry .. seq end
    unset_free(list, entry, known)
    redis.call('HSET', list.rooms, entry, string.format('<listed>', seq, ''))
    redis.call('ZADD', list.untils, tonumber(now) + CLOSED_MS, entry)
    return
  end
  if not is_listed then
    if tonumber(ends) <= tonumber(now) then return end
    redis.call('ZADD', list.order, 0, entry)
    redis.call('ZADD', list.untils, ends, entry)
  else redis.call('ZADD', list.untils, 'GT', ends, entry) end
  if known == summary and known_seq == tonumber(seq) then return end
  redis.call('HSET', list.rooms, entry, string.format('<listed>', seq, summary))
  if known == summary and is_listed then return end
  list.changed = entry .. seq
  unset_free(list, entry, known)
  set_free(list, entry, summary)
end

-- Ends the reservation of a seat, because it was taken or will not be taken.
local function release(list, entry, account)
  if redis.call('ZREM', list.reserved, entry .. ' ' .. account) == 0 then return end
  -- If the entry was removed meanwhile, `taken` has no number for it.
  if tonumber(redis.call('HGET', list.taken, entry) or 0) <= 1 then redis.call('HDEL', list.taken, entry)
  else redis.call('HINCRBY', list.taken, entry, -1) end
  local _, summary = remembered(list, entry)
  if summary and summary ~= '' then set_free(list, entry, summary) end
end

local function reserve(list, entry, account, reserved_ms, summary)
  if redis.call('ZADD', list.reserved, tonumber(now) + reserved_ms, entry .. ' ' .. account) == 1 then
    redis.call('HINCRBY', list.taken, entry, 1)
  end
  set_free(list, entry, summary)
end

-- Ends reservations past their time: their processes died, or lost the answer of the room.
local function lapse(list, most)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', list.reserved, '-inf', now, 'LIMIT', 0, most)) do
    release(list, string.match(member, '^(%S+) (.*)$'))
  end
end

-- Sets the expiry of the list's keys. To be called after all writes of a call.
local function keep_list(list)
  if list.changed then redis.call('SET', list.version, now .. list.changed) end
  local keys = list.free and {list.order, list.untils, list.rooms, list.version, list.free, list.reserved, list.taken}
    or {list.order, list.untils, list.rooms, list.version}
  for _, key in ipairs(keys) do redis.call('PEXPIRE', key, KEPT_MS) end
end
