-- Applies one coin operation: once per key, whole or not at all.
-- KEYS ledger, keys, credited
-- ARGV operation, key, key_hash, at, rules
-- Prologue prologue-open.lua: account, open_account, answer, moved_in
-- Library ledger.lua: HASH_RANGE, MAX_BALANCE, CREDITED_KEPT_SECONDS, whole, tail, bucket_of, place_of, forget_key, append, unfiled_guests
-- Answers done(balance) replayed(balance then, balance now) insufficient_coins(balance) balance_limit(balance) key_reused integrity_failed
--
-- `operation` is the type's letter and the signed coins: "d-30". `at` is milliseconds since 1970 in base 36. `rules` is '' with
-- default settings, else "<daily cap> <keep after> <proof wanted> <hash secret>": coins, milliseconds since 1970, 0 or 1, each 0
-- where the setting is off, and the secret only with a <keep after>. One argument instead of four saves 3 % of a credit's CPU, in
-- Redis and in the service (bench --compare, 23 pairs).

local daily_cap, keep_after, proof_wanted, hash_secret
if rules ~= '' then daily_cap, keep_after, proof_wanted, hash_secret = string.match(rules, '^(%d+) (%d+) (%d) (%x*)$') end
if proof_wanted == '1' and redis.call('HEXISTS', account, 'installVerifiedAt') == 0 then return {'integrity_failed'} end

local coins = tonumber(string.sub(operation, 2))
local seq, balance, is_keyed = tail(ledger)
local after = balance + coins
local capped = daily_cap and daily_cap ~= '0'

local refusal
if after < 0 then refusal = 'insufficient_coins'
elseif after > MAX_BALANCE then refusal = 'balance_limit'
elseif capped and tonumber(redis.call('GET', credited) or '0') + coins > tonumber(daily_cap) then refusal = 'balance_limit' end

local bucket = bucket_of(keys, key_hash, seq)
local place = whole((seq + 1) * HASH_RANGE + key_hash)

-- Most operations are simple, with a new key. Then one HSETNX both looks the key up and claims it, and is the first write.
local is_simple = seq > 0 and not refusal and moved_in == '' and is_keyed
if not is_simple or redis.call('HSETNX', bucket, key, place) == 0 then
  local is_reused = false
  local function replay(of_ledger, of_keys, entries, of_is_keyed)
    local known = place_of(of_keys, key, key_hash, entries, of_is_keyed)
    if not known then return nil end
    local entry = redis.call('LINDEX', of_ledger, math.floor(tonumber(known) / HASH_RANGE) - entries - 1)
    local then_balance, then_operation = string.match(entry, '^%d+ (%d+) (%S+)')
    if then_operation == operation then return then_balance end
    is_reused = true
  end

  -- Idempotency keys that a guest used before it moved into this account replay here.
  local function replay_of_guests()
    local then_balance
    local filed = redis.call('HGET', keys .. ':guests', key)
    if filed then
      then_balance = string.match('\n' .. filed, '\n' .. string.gsub(operation, '%-', '%%-') .. ' (%d+)')
      is_reused = is_reused or not then_balance
    end
    for _, guest in ipairs(unfiled_guests(moved_in)) do
      if then_balance then break end
      then_balance = replay('{' .. guest.id .. '}:ledger', '{' .. guest.id .. '}:keys', guest.entries, false)
    end
    return then_balance
  end

  local then_balance = replay(ledger, keys, seq, is_keyed)
  if not then_balance and moved_in ~= '' then then_balance = replay_of_guests() end
  if then_balance then return {'replayed', then_balance, whole(balance)} end
  if is_reused then return {'key_reused'} end
  if refusal then return {refusal, whole(balance)} end
  if seq == 0 and not open_account() then return {'rate_limited'} end
  redis.call('HSET', bucket, key, place)
end

-- Nothing below refuses.
append(ledger, keys, seq + 1, after, operation, at, key, is_keyed)
if capped then
  redis.call('INCRBY', credited, whole(coins))
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

if keep_after and keep_after ~= '0' then
  -- Retention deletes at most two old entries, with their keys, for each new one. The last entry always stays.
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', ledger, 0)
    local of_letter, written_at, old_key = string.match(oldest, '^%d+ %d+ (%a)%S+ (%S+) (.*)$')
    if tonumber(written_at, 36) >= tonumber(keep_after) or redis.call('LLEN', ledger) == 1 then break end
    redis.call('LPOP', ledger)
    -- No bucket holds the entry of a move.
    if of_letter ~= 'm' then forget_key(keys, old_key, written_at, hash_secret, seq + 1) end
  end
end

return answer('done', whole(after))
