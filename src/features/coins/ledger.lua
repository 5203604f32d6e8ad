-- An account's ledger, for every script that changes a balance.
-- Gives HASH_RANGE, MAX_BALANCE, CREDITED_KEPT_SECONDS, whole(), tail(), bucket_of() and append().
--
-- The ledger is a list of entries "<seq> <balance after> <type><coins> <at> <key>"; its last entry holds the balance, so
-- that a balance can never differ from its history. `keys` finds an entry by its key: hashes of key → seq, each small
-- enough for Redis's listpack encoding (a third of the memory of a large hash), and for a quick look through it. Their
-- number grows with the ledger by linear hashing (Litwin, VLDB 1980): every KEYS_PER_BUCKET entries one is split in two.
local KEYS_PER_BUCKET = 20
local HASH_RANGE = 65536
local MOVED_AT_ONCE = 1000 -- Lua takes some 8,000 arguments
local MAX_BALANCE = 1e12 -- as in model.ts
local CREDITED_KEPT_SECONDS = 2 * 86400 -- its day, and clocks that differ

-- Lua's own text of a large number loses digits.
local function whole(number) return string.format('%d', number) end

-- How many entries there were ever, and the balance.
local function tail(ledger)
  local last = redis.call('LINDEX', ledger, -1)
  if not last then return 0, 0 end
  local seq, balance = string.match(last, '^(%d+) (%d+)')
  return tonumber(seq), tonumber(balance)
end

-- The bucket that holds a key of this hash in a ledger of so many entries; how many there are, and the power of two below.
local function bucket_of(keys, hash, entries)
  local count = math.min(math.floor(entries / KEYS_PER_BUCKET) + 1, HASH_RANGE)
  local _, exponent = math.frexp(count)
  local power = 2 ^ (exponent - 1)
  local bucket = hash % (power * 2)
  if bucket >= count then bucket = hash % power end
  return keys .. ':' .. bucket, count, power
end

-- Writes the next entry. Its key, if it is to be found by it, stands in its bucket already.
local function append(ledger, keys, seq, balance, operation, at, key)
  redis.call('RPUSH', ledger, string.format('%d %d %s %s %s', seq, balance, operation, at, key))
  if seq % KEYS_PER_BUCKET > 0 then return end
  local _, count, power = bucket_of(keys, 0, seq - 1)
  if count == HASH_RANGE then return end
  -- A new bucket takes its share of its parent's keys: first copied, then removed, so that none is ever in neither.
  local parent, child = keys .. ':' .. (count - power), keys .. ':' .. count
  local found = redis.call('HGETALL', parent)
  local moved, moved_keys = {}, {}
  local function move()
    if #moved == 0 then return end
    redis.call('HSET', child, unpack(moved))
    redis.call('HDEL', parent, unpack(moved_keys))
    moved, moved_keys = {}, {}
  end
  for index = 1, #found, 2 do
    if tonumber(found[index + 1]) % HASH_RANGE % (power * 2) == count then
      moved[#moved + 1], moved[#moved + 2] = found[index], found[index + 1]
      moved_keys[#moved_keys + 1] = found[index]
      if #moved_keys == MOVED_AT_ONCE then move() end
    end
  end
  move()
end
