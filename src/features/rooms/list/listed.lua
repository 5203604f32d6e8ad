-- A library of functions for scripts that read or write a list of the open rooms of one game or of all games. Takes `now` of the batch.
-- Gives list_of(), remembered(), forget(), put(), sweep(), keep_list(), hash_of(), seats_of(), release(), reserve() and lapse().
--
-- A room is open if it is public, in the lobby, not locked, and has a free seat. list-model.ts has the formats of entries and rooms. Keys:
--   order    a sorted set of the entries of open rooms, all with the score 0, so that Redis sorts them by their text
--   untils   a sorted set: entries by the time until which somebody is known to be present in the room, in milliseconds since 1970. After
--            that time an entry is ignored, and later removed. A room that is no longer open is remembered for CLOSED_MS
--   rooms    a hash: the seq and the summary of each room by its entry. The summary is '' for a room that is not open
--   version  a text that differs after each change that a reader sees
-- Only the list of a game has these keys, for quick matches:
--   free      a sorted set of '<hash><entry>', all with the score 0: the rooms with a seat that is neither taken nor reserved. Each room is
--             there twice, with the hash of its tags, and with the hash of its tags and its number of seats
--   reserved  a sorted set: the reservations of seats, '<entry> <account id>', by the time at which they end
--   taken     a hash: the number of reserved seats of each entry
-- A match may reserve seats of a room that is about to be created: the room has the seq 0 in `rooms`, and is not in `order`.
--
-- A list is in another slot than its rooms, so processes write the state of rooms into the list after acts. Each write has the room's seq,
-- and a write with an older seq changes nothing.

-- How long the list remembers a room that is not open, in milliseconds. A write with an older seq arrives within this time.
local CLOSED_MS = 15000
-- How long the keys of a list live after the last write, in milliseconds. The keys expire because perhaps nobody plays the game any more.
-- No act and no socket keeps a room listed for that long (SERVER_PRESENT_MS of list-writer.ts).
local KEPT_MS = 120000

-- The keys of a list, for the functions of this library. `matches`: '1' for the list of a game, '' for the list of all games.
local function list_of(order, untils, rooms, version, free, reserved, taken, matches)
  return {
    order = order, untils = untils, rooms = rooms, version = version,
    free = matches == '1' and free, reserved = reserved, taken = taken,
  }
end

-- The hash with which members of `free` begin. The hash is made of the tags and of `most`, the number of seats ('' for any number).
local function hash_of(tags, most) return string.sub(redis.sha1hex(most .. tags), 1, 16) end
local function seats_of(summary) return string.match(summary, '<summary: players, max_players, tags>') end

-- Adds a room to `free` if it has a free seat that is not reserved. Otherwise removes the room from `free`.
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

-- Removes entries from all keys of the list.
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

-- Returns the seq and the summary of an entry, or nothing if the list does not have the entry. The summary is '' for a room that is not
-- open. An entry past its time is removed.
local function remembered(list, entry)
  local text = redis.call('HGET', list.rooms, entry)
  if not text then return end
  local ends = redis.call('ZSCORE', list.untils, entry)
  if not ends or tonumber(ends) <= tonumber(now) then return forget(list, {entry}) end
  local seq, summary = string.match(text, '<listed>')
  return tonumber(seq), summary
end

-- Removes up to `most` entries past their time, and returns their number. Readers see no difference, because they ignore such entries.
local function sweep(list, most)
  local gone = redis.call('ZRANGEBYSCORE', list.untils, '-inf', now, 'LIMIT', 0, most)
  forget(list, gone)
  return #gone
end

-- Writes a room's state into the list. `ends`: the time until which somebody is known to be present in the room, in milliseconds since
-- 1970. If nobody is present, it is 0, and the room leaves the list.
--
-- When a player joins or leaves, the room's seq rises, so if the seq is higher than the known one, the new `ends` replaces the old. If the
-- seq is the same, the later of the two times stays.
local function put(list, entry, seq, ends, summary)
  local known_seq, known = remembered(list, entry)
  if known_seq and known_seq > tonumber(seq) then return end
  local is_listed = known_seq and known_seq > 0 and known ~= ''
  if summary == '' or tonumber(ends) == 0 then
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
  elseif known_seq == tonumber(seq) then redis.call('ZADD', list.untils, 'GT', ends, entry)
  else redis.call('ZADD', list.untils, ends, entry) end
  if known == summary and known_seq == tonumber(seq) then return end
  redis.call('HSET', list.rooms, entry, string.format('<listed>', seq, summary))
  if known == summary and is_listed then return end
  list.changed = entry .. seq
  unset_free(list, entry, known)
  set_free(list, entry, summary)
end

-- Ends the reservation of a seat, because the account has taken the seat or will not take it.
local function release(list, entry, account)
  if redis.call('ZREM', list.reserved, entry .. ' ' .. account) == 0 then return end
  -- If the entry was removed from the list while the seat was reserved, `taken` has no number for the entry.
  if tonumber(redis.call('HGET', list.taken, entry) or 0) <= 1 then redis.call('HDEL', list.taken, entry)
  else redis.call('HINCRBY', list.taken, entry, -1) end
  local _, summary = remembered(list, entry)
  if summary and summary ~= '' then set_free(list, entry, summary) end
end

-- Reserves a seat of a room for an account, or extends the reservation, for `reserved_ms` milliseconds.
local function reserve(list, entry, account, reserved_ms, summary)
  if redis.call('ZADD', list.reserved, tonumber(now) + reserved_ms, entry .. ' ' .. account) == 1 then
    redis.call('HINCRBY', list.taken, entry, 1)
  end
  set_free(list, entry, summary)
end

-- Ends up to `most` reservations whose time is over. The process that reserved such a seat has died, or has lost the answer of the script
-- that takes the seat.
local function lapse(list, most)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', list.reserved, '-inf', now, 'LIMIT', 0, most)) do
    release(list, string.match(member, '^(%S+) (.*)$'))
  end
end

-- Sets the version if readers will see a change, and sets the expiry of the list's keys. To be called after all writes of a script.
local function keep_list(list)
  if list.changed then redis.call('SET', list.version, now .. list.changed) end
  local keys = list.free and {list.order, list.untils, list.rooms, list.version, list.free, list.reserved, list.taken}
    or {list.order, list.untils, list.rooms, list.version}
  for _, key in ipairs(keys) do redis.call('PEXPIRE', key, KEPT_MS) end
end
