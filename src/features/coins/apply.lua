-- Applies one coin operation: once per key, whole or not at all.
-- KEYS ledger, keys, credited
-- ARGV letter, coins, key, key_hash, at, daily_cap, keep_after, proof_wanted
-- Prelude ledger.lua: MAX_BALANCE, whole, tail, entry_of, append, forget, add_credited
-- Answers done(balance) replayed(balance then, balance now) insufficient_coins(balance) balance_limit(balance) key_reused integrity_failed
coins, key_hash = tonumber(coins), tonumber(key_hash)
local operation = letter .. whole(coins)

if proof_wanted == '1' and redis.call('HEXISTS', account, 'installVerifiedAt') == 0 then return {'integrity_failed'} end

local seq, balance = tail(ledger)
local is_reused = false
local function replay(of_ledger, of_keys, entries)
  if entries == 0 then return nil end
  local then_balance, then_operation = entry_of(of_ledger, of_keys, entries, key, key_hash)
  if then_operation == operation then return then_balance end
  is_reused = is_reused or then_operation ~= nil
end

local then_balance = replay(ledger, keys, seq)
-- What an install did before it moved into this account was done: its keys are this account's.
for guest, entries in string.gmatch(moved_in, '(%S+) (%d+)\n') do
  then_balance = then_balance or replay('{' .. guest .. '}:ledger', '{' .. guest .. '}:keys', tonumber(entries))
end
if then_balance then return {'replayed', then_balance, whole(balance)} end
if is_reused then return {'key_reused'} end

local after = balance + coins
if after < 0 then return {'insufficient_coins', whole(balance)} end
if after > MAX_BALANCE then return {'balance_limit', whole(balance)} end
local capped = daily_cap ~= '0'
if capped and tonumber(redis.call('GET', credited) or '0') + coins > tonumber(daily_cap) then
  return {'balance_limit', whole(balance)}
end
if seq == 0 and not open_account() then return {'rate_limited'} end

-- Every check is behind us: from here on, writes only.
seq = append(ledger, keys, seq, after, operation, at, key, key_hash)
if capped then add_credited(credited, coins) end

if keep_after ~= '' then
  -- Retention: at most two old entries go with each new one, their keys with them. The last one always stays.
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', ledger, 0)
    local of_letter, written_at, old_key = string.match(oldest, '^%d+ %d+ (%a)%S+ (%S+) (.*)$')
    if tonumber(written_at, 36) >= tonumber(keep_after) or redis.call('LLEN', ledger) == 1 then break end
    redis.call('LPOP', ledger)
    -- A move's entry stands in no bucket.
    if of_letter ~= 'm' then forget(keys, seq, old_key) end
  end
end

return answer('done', whole(after))
