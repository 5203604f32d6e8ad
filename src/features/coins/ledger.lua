-- An account's ledger, for every script that changes a balance.
-- Defines MAX_BALANCE, MIN_BALANCE, CREDITED_KEPT_SECONDS, MOST_SEQ, is_data_of(), whole(), of_account(), guest_ledger(), tail(), used_for(), claim(),
-- file_key(), count_forgotten(), forget_oldest(), tell_entry(), append(), is_small() and file_guest(). used_for() calls functions of
-- standing.lua.
--
-- The ledger is a list of entries (`ledgerEntry` of model.ts). The last entry holds the balance, so that a balance can never differ from
-- its history. A balance below 0 is a debt, which only refunds and grants taken back make. Of the origin of an entry scripts
-- read only whether an operator made it (take-back.lua).
--
-- The index finds an entry by its idempotency key. The index consists of Redis hashes `{…}:index:0`, `{…}:index:1`, …, which are called
-- buckets. A bucket maps the hash of an idempotency key to the seq of its entry. If several keys of an account have the same hash, the
-- value has the seqs of all their entries, separated by commas. Each entry contains its idempotency key, so a lookup compares the whole
-- key. A hash and a seq take a third of the memory that an idempotency key would take, and less time to write and to find.
--
-- A bucket is small enough for Redis's listpack encoding. The number of buckets grows with the ledger: after every ENTRIES_PER_BUCKET
-- entries, one bucket is split in two (linear hashing: Litwin, VLDB 1980).
--
-- The hash of an idempotency key depends on the service's secret (key-hash.ts), so that a client cannot choose many keys that go into one
-- bucket.
--
-- TypeScript gives DATA_VERSION, DAY_MS, ENTRIES_PER_BUCKET, MAX_BALANCE and MIN_BALANCE.
local MOVED_AT_ONCE = 1000 -- hashes that one command moves to another bucket: a call in Lua takes some 8,000 arguments
local CREDITED_KEPT_SECONDS = 2 * 86400 -- a day's counter of credits is kept for the UTC day, and a margin for clocks that differ
-- A ledger with a higher seq is damaged: an entry a second for three years. Work on each of its buckets would keep Redis busy for ever.
local MOST_SEQ = 1e8
local SMALL_ENTRIES = 100 -- the most entries of a guest's ledger that is filed: filing takes less than a millisecond

-- Whether the data has the version of this coinop and this secret. Redis may have been emptied, or restored from a backup, since the
-- service read the secret. With a wrong secret a used idempotency key would seem new. One check serves all calls of a batch.
local is_right_data
local function is_data_of(secret)
  if is_right_data == nil then
    local found = redis.call('MGET', place .. 'data:version', place .. 'ledger:secret')
    is_right_data = found[1] == DATA_VERSION and found[2] == secret
  end
  return is_right_data
end

-- Formats a whole number. `tostring` loses digits of a large number.
local function whole(number) return string.format('%d', number) end

-- Returns another Redis key of the ledger's account: '{id}:index:0' for '{id}:ledger' and 'index:0'.
local function of_account(ledger, name) return string.sub(ledger, 1, -7) .. name end

-- Returns the Redis key of a moved guest's ledger: '{id}:guest:<guest id>:ledger' beside the account's '{id}:ledger', so both are in one
-- slot. If a guest's ledger is too large for file_guest, it has its own index. `of_account` makes the names of the buckets from the
-- ledger's name.
local function guest_ledger(ledger, guest_id) return of_account(ledger, 'guest:' .. guest_id .. ':ledger') end

-- Returns the seq of the last entry and the balance.
local function tail(ledger)
  local last = redis.call('LINDEX', ledger, -1)
  if not last then return 0, 0 end
  local seq, balance = string.match(last, '<entry: seq, balance>')
  return tonumber(seq), tonumber(balance)
end

-- Returns three values for a ledger of `entries` entries: the Redis key of the bucket of a hash, the number of buckets, and the largest
-- power of two that is not above the number of buckets.
local function bucket_of(ledger, hash, entries)
  local count = math.floor(entries / ENTRIES_PER_BUCKET) + 1
  local _, exponent = math.frexp(count)
  local power = 2 ^ (exponent - 1)
  local bucket = hash % (power * 2)
  if bucket >= count then bucket = hash % power end
  return of_account(ledger, 'index:' .. bucket), count, power
end

-- HalfSipHash-1-3 of an idempotency key, as in key-hash.ts. Sums may exceed 32 bits, because the functions of `bit` use only the lowest 32.
local function hash_of(secret, key)
  local bxor, rol = bit.bxor, bit.rol
  local function word(text, at)
    local lowest, low, high, highest = string.byte(text, at, at + 3)
    return (lowest or 0) + (low or 0) * 2 ^ 8 + (high or 0) * 2 ^ 16 + (highest or 0) * 2 ^ 24
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
  return bxor(v1, v3)
end

-- Returns the entry with this idempotency key in a ledger of `entries` entries, or nil.
local function entry_of(ledger, key, hash, entries)
  local seqs = redis.call('HGET', (bucket_of(ledger, hash, entries)), hash)
  -- Retention may have deleted the oldest entries, so an index into the list has to count back from the newest entry, whose seq is known.
  for seq in string.gmatch(seqs or '', '%d+') do
    local entry = redis.call('LINDEX', ledger, seq - entries - 1)
    if entry and string.match(entry, '<entry: key>') == key then return entry end
  end
end

-- Finds the operation for which an idempotency key was used in an account: in the account's ledger of `entries` entries, or in the ledgers
-- of the guests that moved in, because a client may repeat a guest's request for the account that the guest moved into. `pattern` matches
-- the operations that count as a replay. Returns the operation and the balance after it. If there is none, returns nil, nil, and whether
-- the key was used for an operation that does not match.
local function used_for(pattern, ledger, entries, key, hash, moved_in)
  local is_reused = false
  local function find_entry(of_ledger, last_seq)
    local entry = entry_of(of_ledger, key, hash, last_seq)
    if not entry then return end
    local balance, operation = string.match(entry, '<entry: balance, letter..coins>')
    if string.find(operation, '^' .. pattern .. '$') then return operation, balance end
    is_reused = true
  end
  local operation, balance = find_entry(ledger, entries)
  if moved_in == '' or operation then return operation, balance, is_reused end
  local filed = redis.call('HGET', of_account(ledger, 'keys:guests'), key)
  if filed then
    operation, balance = string.match('\n' .. filed, '\n(' .. pattern .. ') (%-?%d+)')
    is_reused = is_reused or not operation
  end
  for _, guest in ipairs(unfiled_guests(moved_in)) do
    if operation then break end
    operation, balance = find_entry(guest_ledger(ledger, guest.id), guest.entries)
  end
  return operation, balance, is_reused
end

-- Adds the idempotency key of the next entry to the index, unless the index already has the key's hash. Returns whether the key was added.
-- So one command both shows that the key is new and is the first write of most operations.
local function claim(ledger, hash, entries)
  return redis.call('HSETNX', (bucket_of(ledger, hash, entries)), hash, whole(entries + 1)) == 1
end

-- Adds the idempotency key of the entry `seq` to the index. Another key may have the same hash.
local function file_key(ledger, hash, seq, entries)
  local bucket = bucket_of(ledger, hash, entries)
  if redis.call('HSETNX', bucket, hash, seq) == 1 then return end
  local seqs = redis.call('HGET', bucket, hash)
  if not string.find(',' .. seqs .. ',', ',' .. seq .. ',', 1, true) then redis.call('HSET', bucket, hash, seqs .. ',' .. seq) end
end

-- Removes the idempotency key of an entry that retention deletes.
local function forget_key(ledger, key, seq, secret, entries)
  local hash = whole(hash_of(secret, key))
  local bucket = bucket_of(ledger, hash, entries)
  local others = {}
  for other in string.gmatch(redis.call('HGET', bucket, hash) or '', '%d+') do
    if other ~= seq then others[#others + 1] = other end
  end
  if #others == 0 then redis.call('HDEL', bucket, hash)
  else redis.call('HSET', bucket, hash, table.concat(others, ',')) end
end

-- Counts an entry that is deleted, on the day on which it was written. So on each day the counted coins are those of the entries that
-- still exist and of those that were deleted, and the audit can compare both (features/numbers/).
local function count_forgotten(entry)
  local letter, coins, at = string.match(entry, '<entry: letter, coins, at>')
  if not letter then return end
  local number = tonumber(coins)
  count_on(whole(math.floor(tonumber(at, 36) / DAY_MS)), (number < 0 and 'x-' or 'x+') .. letter, math.abs(number))
end

-- Deletes at most two entries that are older than `kept` milliseconds, with their idempotency keys. Every script that appends an entry
-- calls this function, so ledgers shrink until only younger entries remain. The last entry always stays, because it holds the balance. If
-- `kept` is 0, all entries stay forever.
local function forget_oldest(ledger, kept, secret, entries)
  if kept == '0' then return end
  local keep_after = now - kept
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', ledger, 0)
    local seq, letter, written_at, key = string.match(oldest, '<entry: seq, letter, at, key>')
    if tonumber(written_at, 36) >= keep_after or redis.call('LLEN', ledger) == 1 then break end
    redis.call('LPOP', ledger)
    count_forgotten(oldest)
    -- Entries of moves are not in the index.
    if letter ~= 'm' then forget_key(ledger, key, seq, secret, entries) end
  end
end

-- The time of the batch in the format of entries: milliseconds since 1970 in base 36.
local batch_time
local function time_text()
  if not batch_time then
    local digits, rest = '', tonumber(now)
    repeat
      local digit = rest % 36
      digits = string.sub('0123456789abcdefghijklmnopqrstuvwxyz', digit + 1, digit + 1) .. digits
      rest = (rest - digit) / 36
    until rest == 0
    batch_time = digits
  end
  return batch_time
end

-- Emits the event `coins.changed`. account-events.lua describes the event's number.
local function tell_entry(ledger, seq, balance, operation)
  local others = redis.call('HGET', of_account(ledger, 'account'), 'events') or 0
  emit(string.format('c %s %d %d:%d %s', string.sub(ledger, 2, -9), seq + others, seq, balance, operation))
end

-- Appends an entry. The calling script has already added the entry's idempotency key to the index, unless the key need not be found.
-- `coins` are those of the operation, as a number. `origin` may be nil or ''. `is_guests` is true for the copy of a guest's ledger. The copy
-- emits no events, because the guest's own slot emits them.
local function append(ledger, seq, balance, coins, operation, key, origin, is_guests)
  local at = time_text()
  if origin and origin ~= '' then at = at .. '~' .. origin end
  redis.call('RPUSH', ledger, string.format('<entry: seq, balance, letter..coins, at..origin, key>', seq, balance, operation, at, key))
  count_letter(string.byte(operation), coins)
  if emits and not is_guests then tell_entry(ledger, seq, balance, operation) end
  if seq % ENTRIES_PER_BUCKET > 0 then return end
  local _, count, power = bucket_of(ledger, 0, seq - 1)
  -- Split a bucket: copy the new bucket's share of the hashes, then remove this share from the old bucket. So each hash is always in the
  -- old bucket or in the new bucket.
  local parent, child = of_account(ledger, 'index:' .. count - power), of_account(ledger, 'index:' .. count)
  local found = redis.call('HGETALL', parent)
  local moved, moved_hashes = {}, {}
  local function move()
    if #moved == 0 then return end
    redis.call('HSET', child, unpack(moved))
    redis.call('HDEL', parent, unpack(moved_hashes))
    moved, moved_hashes = {}, {}
  end
  for place = 1, #found, 2 do
    if found[place] % (power * 2) == count then
      moved[#moved + 1], moved[#moved + 2] = found[place], found[place + 1]
      moved_hashes[#moved_hashes + 1] = found[place]
      if #moved_hashes == MOVED_AT_ONCE then move() end
    end
  end
  move()
end

-- Whether a guest's ledger is short enough to be filed with the account that the guest moves into.
local function is_small(ledger) return redis.call('LLEN', ledger) <= SMALL_ENTRIES end

-- Files the small ledger of a guest with the account into which the guest moves. Three keys of the account then have the entries of all
-- filed guests, so that one lookup is enough even if the account has hundreds of guests. The function writes:
-- - `{…}:keys:guests`, a hash: idempotency key → the operations of guests under this key (`filedOperation`).
-- - `<ledger>:guests`, a sorted set: the entries by time (`filedEntry`).
-- - `<ledger>:guests:ids`, a hash: the guest's number → the guest (`filedGuest`).
local function file_guest(guest_id, ledger, number, last_seq)
  local guest_keys = of_account(ledger, 'keys:guests')
  local entries, scored, names = redis.call('LRANGE', guest_ledger(ledger, guest_id), 0, -1), {}, {}
  local newest = 0
  for index, entry in ipairs(entries) do
    local seq, balance, operation, at, key = string.match(entry, '<entry: seq, balance, letter..coins, at, key>')
    -- Times must not fall from entry to entry, because the sorted set has to keep the order of the ledger even if a process's clock was set
    -- back.
    newest = math.max(newest, tonumber(at, 36))
    scored[2 * index - 1], scored[2 * index] = whole(newest), string.format('<filed_entry>', 999 - number, seq)
    entries[index] = {key = key, line = string.format('<filed_operation: letter..coins, balance>', operation, balance)}
    names[index] = key
  end
  redis.call('HSET', ledger .. ':guests:ids', whole(number), string.format('<filed_guest>', guest_id, last_seq))
  if #entries == 0 then return end
  redis.call('ZADD', ledger .. ':guests', unpack(scored))
  local known, lines = redis.call('HMGET', guest_keys, unpack(names)), {}
  for index, entry in ipairs(entries) do
    local before = known[index] or ''
    -- Entries of moves have no line, because no idempotency key may find them.
    if string.sub(entry.line, 1, 1) ~= 'm' and not string.find('\n' .. before, '\n' .. string.match(entry.line, '^%S+ '), 1, true) then
      lines[#lines + 1], lines[#lines + 2] = entry.key, before .. entry.line
    end
  end
  if #lines > 0 then redis.call('HSET', guest_keys, unpack(lines)) end
end
