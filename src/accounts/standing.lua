-- Functions that read the standing of an account: whether it is open, banned, moving into another account, moved, or deleted; the
-- generation of its sessions; the guests that moved into it. Only this file, standing-changes.lua and standing.ts know the format in Redis.
-- A parameter `standing` is the Redis key of the standing; a parameter `moved_in` has the lines of the guests.
-- Gives standing_of(), session_generation(), has_guest(), guest_set(), count_guests(), has_filed_guest() and unfiled_guests().
--
-- standing.ts has the formats of the record's parts.

-- Returns the state of the account, a detail, the generation of its sessions, and the lines of its guests. The states and their details:
-- 'open', 'banned' (the end of the ban, 0 without an end), 'moving', 'moved' (the account that it moved into) and 'deleted' (the time).
local function standing_of(standing)
  local record = redis.call('GET', standing)
  if not record then return 'open', '', '0', '' end
  local state, detail, sign = 'open', '', string.sub(record, 1, 1)
  if sign == '=' then
    state = 'deleted'
    detail, record = string.match(record, '<tombstone>')
    sign = string.sub(record, 1, 1)
  end
  if sign == '>' then
    if state == 'deleted' then return state, detail, '0', '' end
    return 'moved', string.sub(record, '<moved>'), '0', ''
  end
  if sign == '~' then
    if state == 'open' then state = 'moving' end
    record = string.match(record, '<frozen: behind>')
    sign = string.sub(record, 1, 1)
  end
  if sign == '!' then
    local ban_end
    ban_end, record = string.match(record, '<ban: ends_at, behind>')
    if state == 'open' and (ban_end == '0' or tonumber(now) < tonumber(ban_end)) then state, detail = 'banned', ban_end end
  end
  local generation, moved_in = string.match(record, '<generation>')
  return state, detail, generation or '0', moved_in or record
end

-- Returns the generation of the session whose sign-out mark has this key, `{…}:out:<session id>`. The session id begins with
-- "<generation>.". Older versions made session ids without a generation. A session of an older version has generation 0. Such a session has
-- ended if guests moved into the account, because the older versions gave a session of the account to anybody who had a guest's installId.
local function session_generation(signed_out, moved_in)
  return string.match(signed_out, ':out:(%d+)%.') or (moved_in == '' and '0')
end

local function has_guest(moved_in, id) return string.find('\n' .. moved_in, '\n' .. id .. ' ', 1, true) ~= nil end

-- Returns a table whose keys are the ids of the guests.
local function guest_set(moved_in)
  local guests = {}
  for id in string.gmatch(moved_in, '<guest: id>') do guests[id] = true end
  return guests
end

-- Returns the number of guests that moved in, and the number of guests whose ledgers are not filed with the account's ledger.
local function count_guests(moved_in)
  local _, guests = string.gsub(moved_in, '<guest: id>', '')
  local _, unfiled = string.gsub(moved_in, '%*%d', '')
  return guests, unfiled
end

local function has_filed_guest(moved_in) return string.find(moved_in, '=', 1, true) ~= nil end

-- Returns the guests of an account whose ledgers are not filed with the account's ledger, in the order of their moves: id, seq of the last
-- entry, and number. Only the lines of unfiled guests contain `*`, so the search for `*` skips the lines of hundreds of filed guests.
local function unfiled_guests(moved_in)
  local found = {}
  local star = string.find(moved_in, '*', 1, true)
  while star do
    -- An id, a blank and sixteen digits are shorter than 60 characters. The anchor `^` keeps the match linear: without the anchor, Lua
    -- would try each of the 60 characters as the beginning of the line.
    local before = '\n' .. string.sub(moved_in, math.max(1, star - 60), star - 1)
    local guest, entries = string.match(before, '^.*\n(%S+) (%d+)$')
    local number = string.match(moved_in, '^%d+', star + 1)
    found[#found + 1] = {id = guest, entries = tonumber(entries), number = tonumber(number)}
    star = string.find(moved_in, '*', star + 1, true)
  end
  return found
end
