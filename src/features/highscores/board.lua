-- A board, shared by every script that reads or changes one. `entry.ts` reads and makes the same texts.
-- Gives id_of(), player_id_of(), make_player_id(), place_text(), next_place(), entry_of(), entry_of_account(), put(), take_off(), rank_of(), listed(), is_less(), index_after() and changed().
--
-- All keys of a board have the hash tag {board:game}. An archive has its own `scores` and `players`:
--   scores    a sorted set: '<place><player id>' by score
--   players   a hash: by player id '<account id><place><name>'
--   arrivals  the place of the newest entry, as a number
--   secret    a random text, of which and the account's id the player id is made
--   version   a counter: changes of the top ten
-- <place>, <player id> and <account id> have fixed lengths of 9, 12 and 22 characters, so the name needs no separator.
--
-- Redis orders equal scores by their text. A place is the number of microseconds since 1970 at which the score arrived, by Redis's clock,
-- and higher than the places before it; on descending boards, which are read in reverse, it is HIGHEST_PLACE minus that number. So the
-- earlier of two equal scores is listed first. When the catalogue changes a game's order, its board is read in the other direction from
-- then on: the ranks are right at once, but among equal scores those from before the change are listed latest first.
--
-- The player id leads to the account, and the account's id to the player id, without a key that holds either.
local HIGHEST_PLACE = 9007199254740991 -- 2^53 - 1
local DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz' -- of base 64, in the order of their bytes
local PLACE_LENGTH, MEMBER_LENGTH, ACCOUNT_LENGTH = 9, 21, 22

local function digit_of(number) return string.sub(DIGITS, number + 1, number + 1) end

-- The first 72 bits of the hash, three hexadecimal digits at a time.
local function id_of(secret, account_id)
  local hash, id = redis.sha1hex(secret .. account_id), {}
  for at = 1, 16, 3 do
    local number = tonumber(string.sub(hash, at, at + 2), 16)
    id[#id + 1] = digit_of(math.floor(number / 64)) .. digit_of(number % 64)
  end
  return table.concat(id)
end

-- The id of an account's player on the board, nil if the board has no secret yet. Under another secret each player would get a second
-- entry, so a board that has lost its secret serves nobody.
local function player_id_of(secret_key, players, account_id)
  local secret = redis.call('GET', secret_key)
  if secret then return id_of(secret, account_id) end
  if redis.call('EXISTS', players) == 1 then error('ERR ' .. players .. ' has lost its secret', 0) end
  return nil
end

-- The same for the first entry of a board, which gets a secret made of `seed`.
local function make_player_id(secret_key, seed, account_id)
  local secret = redis.sha1hex(seed .. secret_key)
  redis.call('SET', secret_key, secret)
  return id_of(secret, account_id)
end

-- The place of a score that arrived at this number of microseconds.
local function place_text(number, is_ascending)
  if not is_ascending then number = HIGHEST_PLACE - number end
  local place = ''
  for _ = 1, PLACE_LENGTH do
    local digit = number % 64
    place = digit_of(digit) .. place
    number = (number - digit) / 64
  end
  return place
end

local function next_place(arrivals, is_ascending)
  local time = redis.call('TIME')
  local number = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', arrivals) or 0) + 1)
  redis.call('SET', arrivals, string.format('%.0f', number))
  return place_text(number, is_ascending)
end

-- A player's entry, nil if there is none.
local function entry_of(players, player_id)
  local text = player_id and redis.call('HGET', players, player_id)
  if not text then return nil end
  local place = string.sub(text, ACCOUNT_LENGTH + 1, ACCOUNT_LENGTH + PLACE_LENGTH)
  return {player_id = player_id, place = place, member = place .. player_id, name = string.sub(text, ACCOUNT_LENGTH + PLACE_LENGTH + 1)}
end

-- The entry of an account. In data that is not upgraded yet an entry stands under its account's id (`board-upgrade.ts`): the caller has to
-- try again.
local function entry_of_account(secret_key, players, account_id)
  if redis.call('HEXISTS', players, account_id) == 1 then error('TRYAGAIN ' .. players .. ' is not upgraded yet', 0) end
  return entry_of(players, player_id_of(secret_key, players, account_id))
end

-- Without a score only the entry's name changes.
local function put(scores, players, account_id, player_id, place, name, score)
  if score then redis.call('ZADD', scores, score, place .. player_id) end
  redis.call('HSET', players, player_id, account_id .. place .. name)
end

local function take_off(scores, players, entry)
  redis.call('ZREM', scores, entry.member)
  redis.call('HDEL', players, entry.player_id)
end

local function count_ahead(scores, score, is_ascending)
  if is_ascending then return redis.call('ZCOUNT', scores, '-inf', '(' .. score) end
  return redis.call('ZCOUNT', scores, '(' .. score, '+inf')
end

local function rank_of(scores, score, is_ascending) return count_ahead(scores, score, is_ascending) + 1 end

local function range(scores, is_ascending, from, to)
  return redis.call(is_ascending and 'ZRANGE' or 'ZREVRANGE', scores, from, to, 'WITHSCORES')
end

-- Appends the entries from one place to another, 0 for the best, to an answer: member, score, name. Data that is not upgraded yet has the
-- name in the member (`board-upgrade.ts`).
local function listed(answer, scores, players, is_ascending, from, to)
  local found = range(scores, is_ascending, from, to)
  if #found == 0 then return answer end
  local ids = {}
  for index = 1, #found, 2 do ids[#ids + 1] = string.sub(found[index], PLACE_LENGTH + 1, MEMBER_LENGTH) end
  for index, text in ipairs(redis.call('HMGET', players, unpack(ids))) do
    answer[#answer + 1] = found[2 * index - 1]
    answer[#answer + 1] = found[2 * index]
    answer[#answer + 1] = text and string.sub(text, ACCOUNT_LENGTH + PLACE_LENGTH + 1) or ''
  end
  return answer
end

-- Redis compares bytes. `<` of Lua compares by the locale of Redis.
local function is_less(one, other)
  for at = 1, MEMBER_LENGTH do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then return a < b end
  end
  return false
end

-- The place of the first entry behind a member of a score, also where the member has left since: 0 for the best.
local function index_after(scores, is_ascending, score, member)
  if tonumber(redis.call('ZSCORE', scores, member) or 'nan') == tonumber(score) then
    return redis.call(is_ascending and 'ZRANK' or 'ZREVRANK', scores, member) + 1
  end
  local from = count_ahead(scores, score, is_ascending)
  local to = from + redis.call('ZCOUNT', scores, score, score)
  while from < to do
    local middle = math.floor((from + to) / 2)
    local found = range(scores, is_ascending, middle, middle)[1]
    local is_before
    if is_ascending then is_before = is_less(found, member) else is_before = is_less(member, found) end
    if is_before then from = middle + 1 else to = middle end
  end
  return from
end

-- The top ten may have changed, in another way than by a submission. Every process drops its copy: no process has the publisher -.
local function changed(version, game)
  redis.call('INCR', version)
  publish('{board:' .. game .. '}', '-')
end
