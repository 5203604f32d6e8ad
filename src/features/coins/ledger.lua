-- An account's ledger, read and written by every script that changes a balance.
-- Gives MAX_BALANCE, whole(), tail(), entry_of(), append(), forget() and add_credited().
--
-- The ledger is a list of entries "<seq> <balance after> <type><coins> <at> <key>"; its last entry holds the balance, so
-- that a balance can never differ from its history. `keys` finds an entry by its key: hashes of key → seq, each small
-- enough for Redis's listpack encoding (a third of the memory of a large hash). Their number grows with the ledger by
-- linear hashing (Litwin, VLDB 1980): every KEYS_PER_BUCKET entries one bucket is split in two.
local KEYS_PER_BUCKET = 40
local HASH_RANGE = 65536
local MAX_BALANCE = 1e12 -- as in model.ts
local CREDITED_KEPT_SECONDS = 2 * 86400 -- its day, and clocks that differ

-- Lua's own text of a large number loses digits.
local function whole(number) return string.format('%.0f', number) end

local function highest_power_of_two(n)
  local power = 1
  while power * 2 <= n do power = power * 2 end
  return power
end

local function bucket_count(entries)
  return math.min(math.floor(entries / KEYS_PER_BUCKET) + 1, HASH_RANGE)
end

local function bucket_key(keys, hash, count)
  local power = highest_power_of_two(count)
  local bucket = hash % (power * 2)
  if bucket >= count then bucket = hash % power end
  return keys .. ':' .. bucket
end

-- How many entries there were ever, and the balance.
local function tail(ledger)
  local last = redis.call('LINDEX', ledger, -1)
  if not last then return 0, 0 end
  local seq, balance = string.match(last, '^(%d+) (%d+)')
  return tonumber(seq), tonumber(balance)
end

-- The balance after and the "<type><coins>" of the entry with this key, if there is one.
local function entry_of(ledger, keys, seq, key, hash)
  local known = redis.call('HGET', bucket_key(keys, hash, bucket_count(seq)), key)
  if not known then return nil end
  local entry = redis.call('LINDEX', ledger, math.floor(tonumber(known) / HASH_RANGE) - seq - 1)
  return string.match(entry, '^%d+ (%d+) (%S+)')
end

-- Takes a key out that belongs to no entry any more.
local function forget(keys, seq, key)
  local hash = 0
  for position = 1, #key do hash = (hash * 31 + string.byte(key, position)) % HASH_RANGE end
  redis.call('HDEL', bucket_key(keys, hash, bucket_count(seq)), key)
end

-- Writes the entry after `seq`, and lets it be found by its key where `hash` is given. Answers its own seq.
local function append(ledger, keys, seq, balance, operation, at, key, hash)
  seq = seq + 1
  redis.call('RPUSH', ledger, string.format('%.0f %.0f %s %s %s', seq, balance, operation, at, key))
  local count_before, count = bucket_count(seq - 1), bucket_count(seq)
  if hash then redis.call('HSET', bucket_key(keys, hash, count_before), key, whole(seq * HASH_RANGE + hash)) end
  if count > count_before then
    -- A new bucket takes its share of its parent's keys: first copied, then removed, so that none is ever in neither.
    local power = highest_power_of_two(count_before)
    local parent, child = keys .. ':' .. (count_before - power), keys .. ':' .. count_before
    local found = redis.call('HGETALL', parent)
    for index = 1, #found, 2 do
      if tonumber(found[index + 1]) % HASH_RANGE % (power * 2) == count_before then
        redis.call('HSET', child, found[index], found[index + 1])
        redis.call('HDEL', parent, found[index])
      end
    end
  end
  return seq
end

-- Counts coins against the cap of a day.
local function add_credited(credited, coins)
  redis.call('INCRBY', credited, whole(coins))
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end
