-- Applies one coin operation: once per key, whole or not at all.
-- KEYS ledger, keys, credited
-- ARGV letter, coins, key, key_hash, at, daily_cap, keep_after
-- Answers done(balance) replayed(balance then, balance now) insufficient_coins(balance) balance_limit(balance) key_reused
--
-- The ledger is a list of entries "<seq> <balance after> <type><coins> <at> <key>"; its last entry holds the balance, so
-- that a balance can never differ from its history. `keys` finds an entry by its key: hashes of key → seq, each small
-- enough for Redis's listpack encoding (a third of the memory of a large hash). Their number grows with the ledger by
-- linear hashing (Litwin, VLDB 1980): every KEYS_PER_BUCKET entries one bucket is split in two.
local KEYS_PER_BUCKET = 40
local HASH_RANGE = 65536
local MAX_BALANCE = 1e12 -- as in model.ts
local CREDITED_KEPT_SECONDS = 2 * 86400 -- its day, and clocks that differ

coins, key_hash = tonumber(coins), tonumber(key_hash)

local function highest_power_of_two(n)
  local power = 1
  while power * 2 <= n do power = power * 2 end
  return power
end

local function bucket_count(entries)
  return math.min(math.floor(entries / KEYS_PER_BUCKET) + 1, HASH_RANGE)
end

local function bucket_key(hash, count)
  local power = highest_power_of_two(count)
  local bucket = hash % (power * 2)
  if bucket >= count then bucket = hash % power end
  return keys .. ':' .. bucket
end

local seq, balance = 0, 0
local last = redis.call('LINDEX', ledger, -1)
if last then
  local last_seq, last_balance = string.match(last, '^(%d+) (%d+)')
  seq, balance = tonumber(last_seq), tonumber(last_balance)
end
local bucket = bucket_key(key_hash, bucket_count(seq))

if last then
  local known = redis.call('HGET', bucket, key)
  if known then
    local known_seq = math.floor(tonumber(known) / HASH_RANGE)
    local entry = redis.call('LINDEX', ledger, known_seq - seq - 1)
    local then_balance, then_operation = string.match(entry, '^%d+ (%d+) (%S+)')
    if then_operation ~= letter .. string.format('%.0f', coins) then return {'key_reused'} end
    return {'replayed', then_balance, string.format('%.0f', balance)}
  end
end

local after = balance + coins
if after < 0 then return {'insufficient_coins', string.format('%.0f', balance)} end
if after > MAX_BALANCE then return {'balance_limit', string.format('%.0f', balance)} end
local capped = daily_cap ~= '0'
if capped and tonumber(redis.call('GET', credited) or '0') + coins > tonumber(daily_cap) then
  return {'balance_limit', string.format('%.0f', balance)}
end
if not last and not open_account() then return {'rate_limited'} end

-- Every check is behind us: from here on, writes only.
seq = seq + 1
local after_text = string.format('%.0f', after)
redis.call('RPUSH', ledger, string.format('%.0f %s %s%.0f %s %s', seq, after_text, letter, coins, at, key))
redis.call('HSET', bucket, key, string.format('%.0f', seq * HASH_RANGE + key_hash))
if capped then
  redis.call('INCRBY', credited, string.format('%.0f', coins))
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

local count = bucket_count(seq)
if count > bucket_count(seq - 1) then
  -- A new bucket takes its share of its parent's keys: first copied, then removed, so that none is ever in neither.
  local power = highest_power_of_two(count - 1)
  local parent, child = keys .. ':' .. (count - 1 - power), keys .. ':' .. (count - 1)
  local found = redis.call('HGETALL', parent)
  for index = 1, #found, 2 do
    if tonumber(found[index + 1]) % HASH_RANGE % (power * 2) == count - 1 then
      redis.call('HSET', child, found[index], found[index + 1])
      redis.call('HDEL', parent, found[index])
    end
  end
end

if keep_after ~= '' then
  -- Retention: at most two old entries go with each new one, their keys with them. The last one always stays.
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', ledger, 0)
    local _, _, _, written_at, old_key = string.match(oldest, '^(%d+) (%d+) (%S+) (%S+) (.*)$')
    if tonumber(written_at, 36) >= tonumber(keep_after) or redis.call('LLEN', ledger) == 1 then break end
    redis.call('LPOP', ledger)
    local hash = 0
    for position = 1, #old_key do hash = (hash * 31 + string.byte(old_key, position)) % HASH_RANGE end
    redis.call('HDEL', bucket_key(hash, count), old_key)
  end
end

return answer('done', after_text)
