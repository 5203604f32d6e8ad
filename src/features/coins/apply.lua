-- Applies one coin operation: once per key, whole or not at all.
-- KEYS ledger, index, guest_keys, credited
-- ARGV operation, key, key_hash, at, rules
-- Prologue prologue-open.lua: account, open_account, answer, moved_in
-- Library ledger.lua: MAX_BALANCE, CREDITED_KEPT_SECONDS, whole, tail, entry_of, claim, file_key, forget_key, append, unfiled_guests
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
local seq, balance = tail(ledger)
local after = balance + coins
local capped = daily_cap and daily_cap ~= '0'

local refusal
if after < 0 then refusal = 'insufficient_coins'
elseif after > MAX_BALANCE then refusal = 'balance_limit'
elseif capped and tonumber(redis.call('GET', credited) or '0') + coins > tonumber(daily_cap) then refusal = 'balance_limit' end

-- Most operations are simple, with a new key.
local is_simple = seq > 0 and not refusal and moved_in == ''
if not is_simple or not claim(index, key_hash, seq) then
  local is_reused = false
  local function replay(entry)
    if not entry then return nil end
    local then_balance, then_operation = string.match(entry, '^%d+ (%d+) (%S+)')
    if then_operation == operation then return then_balance end
    is_reused = true
  end

  -- Idempotency keys that a guest used before it moved into this account replay here.
  local function replay_of_guests()
    local then_balance
    local filed = redis.call('HGET', guest_keys, key)
    if filed then
      then_balance = string.match('\n' .. filed, '\n' .. string.gsub(operation, '%-', '%%-') .. ' (%d+)')
      is_reused = is_reused or not then_balance
    end
    for _, guest in ipairs(unfiled_guests(moved_in)) do
      if then_balance then break end
      local of_guest = '{' .. guest.id .. '}'
      then_balance = replay(entry_of(of_guest .. ':ledger', of_guest .. ':index:', key, key_hash, guest.entries))
    end
    return then_balance
  end

  local then_balance = replay(entry_of(ledger, index, key, key_hash, seq))
  if not then_balance and moved_in ~= '' then then_balance = replay_of_guests() end
  if then_balance then return {'replayed', then_balance, whole(balance)} end
  if is_reused then return {'key_reused'} end
  if refusal then return {refusal, whole(balance)} end
  if seq == 0 and not open_account() then return {'rate_limited'} end
  file_key(index, key_hash, whole(seq + 1), seq)
end

-- Nothing below refuses.
append(ledger, index, seq + 1, after, operation, at, key)
if capped then
  redis.call('INCRBY', credited, whole(coins))
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

if keep_after and keep_after ~= '0' then
  -- Retention deletes at most two old entries, with their keys, for each new one. The last entry always stays.
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', ledger, 0)
    local old_seq, of_letter, written_at, old_key = string.match(oldest, '^(%d+) %d+ (%a)%S+ (%S+) (.*)$')
    if tonumber(written_at, 36) >= tonumber(keep_after) or redis.call('LLEN', ledger) == 1 then break end
    redis.call('LPOP', ledger)
    -- The index does not have the entries of moves.
    if of_letter ~= 'm' then forget_key(index, old_key, old_seq, hash_secret, seq + 1) end
  end
end

return answer('done', whole(after))
