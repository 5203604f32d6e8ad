-- An account's ledger, for every script that changes a balance.
-- Defines HASH_RANGE, MAX_BALANCE, CREDITED_KEPT_SECONDS, whole(), tail(), bucket_of(), place_of(), forget_key(), append(),
-- is_small(), file_guest() and unfiled_guests().
--
-- The ledger is a list of entries "<seq> <balance after> <type><coins> <at> <key>". The last entry holds the balance, so that
-- a balance can never differ from its history.
--
-- Buckets `<keys>:0`, `<keys>:1`, … find an entry by its idempotency key. A bucket is a hash of key → place, small enough for
-- Redis's listpack encoding: a third of the memory of a large hash, and quick to search. The number of buckets grows with
-- the ledger by linear hashing (Litwin, VLDB 1980): after every KEYS_PER_BUCKET entries, one bucket is split in two.
--
-- The hash of a key under the service's secret (key-hash.ts) decides its bucket. A place holds the hash too, for the split.
-- Older versions hashed keys without a secret. If every key of a ledger was hashed under the secret, the time in its last
-- entry is in capitals: this mark costs no byte and no look-up. In any other ledger the scripts try both hashes.
local KEYS_PER_BUCKET = 20
local HASH_RANGE = 65536 -- as in model.ts
local MOVED_AT_ONCE = 1000 -- a call in Lua takes some 8,000 arguments
local MAX_BALANCE = 1e12 -- as in model.ts
local CREDITED_KEPT_SECONDS = 2 * 86400 -- the UTC day, and a margin for clocks that differ
local SMALL_ENTRIES = 100 -- filing a guest's ledger of this length takes less than a millisecond

-- `tostring` loses digits of a large number.
local function whole(number) return string.format('%d', number) end

-- Returns the seq of the last entry, the balance, and whether all keys were hashed under the secret.
local function tail(ledger)
  local last = redis.call('LINDEX', ledger, -1)
  if not last then return 0, 0, true end
  local seq, balance, at = string.match(last, '^(%d+) (%d+) %S+ (%S+)')
  return tonumber(seq), tonumber(balance), string.find(at, '%u') ~= nil
end

-- Returns the bucket of a key with this hash in a ledger of `entries` entries, the number of buckets, and the largest power
-- of two that is not above that number.
local function bucket_of(keys, hash, entries)
  local count = math.min(math.floor(entries / KEYS_PER_BUCKET) + 1, HASH_RANGE)
  local _, exponent = math.frexp(count)
  local power = 2 ^ (exponent - 1)
  local bucket = hash % (power * 2)
  if bucket >= count then bucket = hash % power end
  return keys .. ':' .. bucket, count, power
end

-- The hash of older versions, without a secret.
local function old_hash(key)
  local hash = 0
  for position = 1, #key do hash = (hash * 31 + string.byte(key, position)) % HASH_RANGE end
  return hash
end

-- HalfSipHash-1-3, as in key-hash.ts. The functions of `bit` reduce sums beyond 32 bits.
local function keyed_hash(secret, key)
  local bxor, rol = bit.bxor, bit.rol
  local function word(text, at)
    local one, two, three, four = string.byte(text, at, at + 3)
    return (one or 0) + (two or 0) * 2 ^ 8 + (three or 0) * 2 ^ 16 + (four or 0) * 2 ^ 24
  end
  local bytes = string.gsub(secret, '%x%x', function(digits) return string.char(tonumber(digits, 16)) end)
  local k0, k1 = word(bytes, 1), word(bytes, 5)
  local v0, v1, v2, v3 = k0, k1, bxor(k0, 0x6c796765), bxor(k1, 0x74656462)
  local function turn(m)
    v3 = bxor(v3, m)
    v0 = v0 + v1
    v1 = bxor(rol(v1, 5), v0)
    v0 = rol(v0, 16)
    v2 = v2 + v3
    v3 = bxor(rol(v3, 8), v2)
    v0 = v0 + v3
    v3 = bxor(rol(v3, 7), v0)
    v2 = v2 + v1
    v1 = bxor(rol(v1, 13), v2)
    v2 = rol(v2, 16)
    v0 = bxor(v0, m)
  end
  local rest = #key % 4
  for at = 1, #key - rest, 4 do turn(word(key, at)) end
  turn(word(string.sub(key, #key - rest + 1) .. string.rep('\0', 3 - rest) .. string.char(#key % 256), 1))
  v2 = bxor(v2, 0xff)
  for _ = 1, 3 do turn(0) end
  return bit.band(bxor(v1, v3), 0xffff)
end

-- Returns the place of a key's entry, "<seq> * HASH_RANGE + <hash>", or false.
local function place_of(keys, key, hash, entries, is_keyed)
  local place = redis.call('HGET', (bucket_of(keys, hash, entries)), key)
  if place or is_keyed then return place end
  return redis.call('HGET', (bucket_of(keys, old_hash(key), entries)), key)
end

-- Removes the key of an entry that retention deletes. `at` is the time as the entry has it.
local function forget_key(keys, key, at, secret, entries)
  if not string.find(at, '%u') and redis.call('HDEL', (bucket_of(keys, old_hash(key), entries)), key) == 1 then return end
  redis.call('HDEL', (bucket_of(keys, keyed_hash(secret, key), entries)), key)
end

-- Appends an entry. If a key is to find the entry, the caller has put the key into its bucket already.
local function append(ledger, keys, seq, balance, operation, at, key, is_keyed)
  if is_keyed then at = string.upper(at) end
  redis.call('RPUSH', ledger, string.format('%d %d %s %s %s', seq, balance, operation, at, key))
  if seq % KEYS_PER_BUCKET > 0 then return end
  local _, count, power = bucket_of(keys, 0, seq - 1)
  if count == HASH_RANGE then return end
  -- Split: copy the new bucket's share of the keys, then remove it from the parent. So each key is always in one of them.
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

-- Whether a guest's ledger is short enough to be filed with the account that the guest moves into.
local function is_small(ledger) return redis.call('LLEN', ledger) <= SMALL_ENTRIES end

-- Files the small ledger of a guest with its account, so that hundreds of guests cost the account one look-up. It writes:
-- - `<keys>:guests`, a hash: key → a line "<operation> <balance after>" for each operation of a guest under this key.
-- - `<ledger>:guests`, a sorted set by time. A member is 999 minus the guest's number, in three digits, and the seq, in
--   fifteen. Read backwards, the set has the order of the history; of entries of the same time, those of the guest that
--   moved first come first.
-- - `<ledger>:guests:ids`, a hash: the guest's number → "<account id> <seq of its last entry>".
local function file_guest(guest_id, ledger, keys, number, last_seq)
  local entries, scored, names = redis.call('LRANGE', '{' .. guest_id .. '}:ledger', 0, -1), {}, {}
  local newest = 0
  for index, entry in ipairs(entries) do
    local seq, balance, operation, at, key = string.match(entry, '^(%d+) (%d+) (%S+) (%S+) (.*)$')
    -- The time never falls from entry to entry, so that a clock that was set back does not reorder the ledger.
    newest = math.max(newest, tonumber(at, 36))
    scored[2 * index - 1], scored[2 * index] = whole(newest), string.format('%03d%015.0f', 999 - number, tonumber(seq))
    entries[index] = {key = key, line = operation .. ' ' .. balance .. '\n'}
    names[index] = key
  end
  redis.call('HSET', ledger .. ':guests:ids', whole(number), guest_id .. ' ' .. whole(last_seq))
  if #entries == 0 then return end
  redis.call('ZADD', ledger .. ':guests', unpack(scored))
  local known, lines = redis.call('HMGET', keys .. ':guests', unpack(names)), {}
  for index, entry in ipairs(entries) do
    local before = known[index] or ''
    -- No key finds the entry of a move.
    if string.sub(entry.line, 1, 1) ~= 'm' and not string.find('\n' .. before, '\n' .. string.match(entry.line, '^%S+ '), 1, true) then
      lines[#lines + 1], lines[#lines + 2] = entry.key, before .. entry.line
    end
  end
  if #lines > 0 then redis.call('HSET', keys .. ':guests', unpack(lines)) end
end

-- Returns the guests of an account whose ledgers are not filed with it, in the order of their moves: id, seq of the last
-- entry, and number. Searches for stars, which only their lines have, to skip the lines of hundreds of filed guests.
local function unfiled_guests(moved_in)
  local found, number = {}, 0
  -- Lines of older versions have no mark, and come first.
  for guest, entries, mark in string.gmatch(moved_in, '(%S+) (%d+)([=*]?)%d*\n') do
    if mark ~= '' then break end
    number = number + 1
    found[number] = {id = guest, entries = tonumber(entries), number = number}
  end
  local star = string.find(moved_in, '*', 1, true)
  while star do
    -- An id, a blank and sixteen digits are shorter than 60 characters.
    local guest, entries = string.match(string.sub(moved_in, math.max(1, star - 60), star - 1), '(%S+) (%d+)$')
    found[#found + 1] = {id = guest, entries = tonumber(entries), number = tonumber(string.match(moved_in, '^%d+', star + 1))}
    star = string.find(moved_in, '*', star + 1, true)
  end
  return found
end
