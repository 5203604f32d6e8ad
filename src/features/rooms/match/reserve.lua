-- Reserves a seat for a quick match in the oldest room with the wanted tags and a free seat. If there is none, reserves a seat in a new
-- room, which the caller has to create. The next callers get seats of the new room too, so that many simultaneous calls do not open more
-- rooms than they fill.
-- KEYS order, untils, rooms, version, free, reserved, taken, asked
-- ARGV game, account_id, tags, max_players (or '': any), new_max_players, new_code, avoided (entries, separated by blanks), is_new (1: not in an existing room)
-- Library listed.lua: list_of, remembered, seats_of, hash_of, reserve, lapse, keep_list
-- Answers reserved(entry, seats and tags of a room that is still to be created, else '' twice) asked(entry)
--
-- If an account calls again within ASKED_MS, it gets the same entry, because the first answer may have been lost. The answer is `reserved`
-- while the account's seat is still reserved, and `asked` after that.
local RESERVED_MS = 5000 -- how long a seat is reserved, in milliseconds: longer than a request takes
local ASKED_MS = 10000
local PENDING_MS = 10000 -- how long the list keeps a new room that nobody has created yet
local LAPSED = 50 -- the most lapsed reservations that one call ends
local MOST_READS = 100 -- the most rooms that one call tries, because the first rooms may be avoided or past their time

local list = list_of(order, untils, rooms, version, free, reserved, taken, '1')
lapse(list, LAPSED)
local is_avoided = {}
for entry in string.gmatch(avoided, '%S+') do is_avoided[entry] = true end

local function found(entry, seq, summary)
  local _, most, has = seats_of(summary)
  return {'reserved', entry, seq == 0 and most or '', seq == 0 and has or ''}
end

local before = redis.call('GET', asked)
if before and not is_avoided[before] then
  local seq, summary = remembered(list, before)
  if redis.call('ZSCORE', reserved, before .. ' ' .. account_id) and summary and summary ~= '' then return found(before, seq, summary) end
  return {'asked', before}
end

local function take(entry, seq, summary)
  reserve(list, entry, account_id, RESERVED_MS, summary)
  redis.call('SET', asked, entry, 'PX', ASKED_MS)
  keep_list(list)
  return found(entry, seq, summary)
end

local hash = hash_of(tags, max_players)
local members = is_new == '' and redis.call('ZRANGEBYLEX', free, '[' .. hash, '(' .. hash .. '~', 'LIMIT', 0, MOST_READS) or {}
for _, member in ipairs(members) do
  local entry = string.sub(member, #hash + 1)
  local seq, summary = remembered(list, entry)
  -- A failover may have lost the entry of this member. If such members were not removed, they would stay at the front of `free` forever.
  if not summary or summary == '' then redis.call('ZREM', free, member)
  elseif not is_avoided[entry] then
    -- The tags themselves are compared, because other tags may have the same hash.
    local _, most, has = seats_of(summary)
    if has == tags and (max_players == '' or max_players == most) then return take(entry, seq, summary) end
  end
end

local entry = string.format('<list_entry>', now, new_code)
local summary = string.format('<summary>', 0, new_max_players, game, tags)
redis.call('HSET', rooms, entry, string.format('<listed>', 0, summary))
redis.call('ZADD', untils, tonumber(now) + PENDING_MS, entry)
return take(entry, 0, summary)
