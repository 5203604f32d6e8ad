-- A library of functions for every script that reads or changes a board. entry-format.ts has the formats of the texts in Redis.
-- Gives id_of(), make_player_id(), place_text(), next_arrival(), player_id_in(), account_in(), entry_of(), entry_of_account(), put(), take_off(), hidden_score(), hide(), show(), score_of(), rank_of(), range(), is_less(), behind() and changed().
--
-- All keys of a board have the hash tag {board:game}. An archive has its own `scores` and `players`. The keys are:
--   scores    a sorted set: the place, the player id and the name of each entry, by score (`boardMember`)
--   players   a hash: the account id, the place and the name of each entry, by player id (`playerEntry`)
--             The entry of a banned account is not in `scores`: the hash then has the entry's score in the field '!<player id>'
--   arrivals  the arrival of the newest entry, in tenths of a millisecond since 1970
--   secret    a random text. Player ids are made from this text and the account's id
--   version   a counter of the changes of the top ten
-- Place, player id and account id have fixed lengths, so no separator is needed before the name. The player's name is in both `scores` and
-- `players`. If `scores` had no names, a page of a big board would have to read each name from the hash, which would take half of the
-- page's time. When a player gets a new name, the old member of `scores` can be put together from the player's text in `players`. With a
-- name of up to 13 bytes a member takes 32 bytes of memory, no more than without a name. If the place or the player id were longer, it
-- would take more.
--
-- Redis orders equal scores by their text. A place is the time at which the score arrived, by Redis's clock, in tenths of a millisecond
-- since 1970. The place of a new score is always higher than the places of all earlier scores. On descending boards, which are read in
-- reverse, the place is HIGHEST_PLACE minus that time. So the earlier of two equal scores is listed first. If a game's order is changed in
-- the catalogue, the board is read in the other direction from then on. The ranks are right at once, but of equal scores from before the
-- change the latest is listed first.
--
-- The account of a player id is read from `players`. The player id of an account is computed with `secret`, so that no further key is
-- needed.
local HIGHEST_PLACE = 94 ^ PLACE_LENGTH - 1 -- the digits of a place are the 94 visible characters of ASCII
local DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz' -- the digits of player ids, in base 64

-- The lowest five digits of a number in base 64, as bytes, the lowest digit first.
local function digits_of(number)
  local floor, byte = math.floor, string.byte
  return byte(DIGITS, number % 64 + 1), byte(DIGITS, floor(number / 64) % 64 + 1), byte(DIGITS, floor(number / 4096) % 64 + 1),
    byte(DIGITS, floor(number / 262144) % 64 + 1), byte(DIGITS, floor(number / 16777216) % 64 + 1)
end

-- The player id of an account. The id is 60 bits of the SHA-1 hash of secret and account id: the lowest 30 bits of each of the first two
-- 32-bit words. A string operation for each digit would take Redis 1.6 µs more.
local function id_of(secret, account_id)
  local hash, char = redis.sha1hex(secret .. account_id), string.char
  return char(digits_of(tonumber(string.sub(hash, 1, 8), 16))) .. char(digits_of(tonumber(string.sub(hash, 9, 16), 16)))
end

-- Makes the secret of a board without entries from `seed`, and returns the player id of the account.
local function make_player_id(secret_key, seed, account_id)
  local secret = redis.sha1hex(seed .. secret_key)
  redis.call('SET', secret_key, secret)
  return id_of(secret, account_id)
end

-- The place of a score. `number`: the score's arrival, in tenths of a millisecond since 1970.
local function place_text(number, is_ascending)
  if not is_ascending then number = HIGHEST_PLACE - number end
  local place = ''
  for _ = 1, PLACE_LENGTH do
    local digit = number % 94
    place = string.char(33 + digit) .. place
    number = (number - digit) / 94
  end
  return place
end

-- The arrival of a new entry, in tenths of a millisecond since 1970. The arrival of a new entry is higher than the arrivals of all earlier
-- entries of the board. `micros`: the present time in microseconds since 1970.
local function next_arrival(arrivals, micros)
  local number = math.max(math.floor(micros / 100), tonumber(redis.call('GET', arrivals) or 0) + 1)
  redis.call('SET', arrivals, string.format('%.0f', number))
  return number
end

local function player_id_in(member) return string.sub(member, '<member: player_id>') end

-- The account id in a value of the hash `players`.
local function account_in(text) return string.sub(text, '<player: account_id>') end

-- A player's entry from the hash `players`; nil if the player has no entry.
local function entry_of(players, player_id)
  local text = player_id and redis.call('HGET', players, player_id)
  if not text then return nil end
  local place, name = string.sub(text, '<player: place>'), string.sub(text, '<player: name>')
  return {player_id = player_id, account_id = account_in(text), place = place, name = name, member = place .. player_id .. name}
end

-- Returns the entry of an account (or nil), the account's player id (nil if the board has no secret yet), and whether another account has
-- the same player id. On a board of a million players the chance of such a collision is 1 in 2 million. If a board has lost its secret, the
-- function raises an error, because with a new secret each player would get a second entry.
local function entry_of_account(secret_key, players, account_id)
  local secret = redis.call('GET', secret_key)
  local player_id = secret and id_of(secret, account_id)
  local entry = entry_of(players, player_id)
  if not entry then
    -- An entry that is not upgraded yet has the account's id as its field (`board-upgrade.ts`). The caller has to try again after the
    -- upgrade.
    if redis.call('HEXISTS', players, account_id) == 1 then error('TRYAGAIN ' .. players .. ' is not upgraded yet', 0) end
    if not secret and redis.call('EXISTS', players) == 1 then error('ERR ' .. players .. ' has lost its secret', 0) end
  elseif entry.account_id ~= account_id then return nil, player_id, true end
  return entry, player_id, false
end

-- Writes a player's entry into both keys. The player must have no other member in `scores`. The texts are joined with `..`, because
-- string.format takes 0.1 µs longer for each.
local function put(scores, players, account_id, player_id, place, name, score)
  redis.call('ZADD', scores, score, place .. player_id .. name)
  redis.call('HSET', players, player_id, account_id .. place .. name)
end

local function hidden_field(player_id) return '!' .. player_id end

-- Deletes a player's entry, whether it is visible or hidden.
local function take_off(scores, players, entry)
  redis.call('ZREM', scores, entry.member)
  redis.call('HDEL', players, entry.player_id, hidden_field(entry.player_id))
end

-- The score of an entry that is hidden, or false if the entry is not hidden.
local function hidden_score(players, entry) return redis.call('HGET', players, hidden_field(entry.player_id)) end

-- Hides an entry: lists no longer contain the entry, and ranks no longer count it.
local function hide(scores, players, entry, score)
  redis.call('ZREM', scores, entry.member)
  redis.call('HSET', players, hidden_field(entry.player_id), score)
end

-- Makes a hidden entry visible again.
local function show(scores, players, entry, score)
  redis.call('ZADD', scores, score, entry.member)
  redis.call('HDEL', players, hidden_field(entry.player_id))
end

-- The score of an entry, whether it is visible or hidden. False if the score is lost.
local function score_of(scores, players, entry) return redis.call('ZSCORE', scores, entry.member) or hidden_score(players, entry) end

-- The number of entries with a better score.
local function count_ahead(scores, score, is_ascending)
  if is_ascending then return redis.call('ZCOUNT', scores, '-inf', '(' .. score) end
  return redis.call('ZCOUNT', scores, '(' .. score, '+inf')
end

local function rank_of(scores, score, is_ascending) return count_ahead(scores, score, is_ascending) + 1 end

-- The entries from position `from` to position `to`, both included, 0 for the best: member, score, member, score …
local function range(scores, is_ascending, from, to)
  return redis.call(is_ascending and 'ZRANGE' or 'ZREVRANGE', scores, from, to, 'WITHSCORES')
end

-- Whether the head of the member `one` sorts before the head of the member `other`. Redis sorts by bytes, but Lua's `<` would compare by
-- the locale of the Redis process.
local function is_less(one, other)
  for at = 1, HEAD_LENGTH do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then return a < b end
  end
  return false
end

-- Finds where a list continues after an entry with this score and head, even if that entry has left the board. Returns the position of the
-- next entry (0 for the best), and the number of entries with a better score.
local function behind(scores, is_ascending, score, head)
  local ahead = count_ahead(scores, score, is_ascending)
  local from, to = ahead, ahead + redis.call('ZCOUNT', scores, score, score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    local found = range(scores, is_ascending, middle, middle)[1]
    local is_behind
    if is_ascending then is_behind = is_less(head, found) else is_behind = is_less(found, head) end
    if is_behind then to = middle else from = middle + 1 end
  end
  return from, ahead
end

-- Announces that the top ten may have changed without a submission. Every process then drops its cached list, because a process ignores
-- only messages with its own name, and no process has the name '-'.
local function changed(version, game)
  redis.call('INCR', version)
  publish('{board:' .. game .. '}', '-')
end
