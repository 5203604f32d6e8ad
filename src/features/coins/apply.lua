-- Applies one coin operation: once per idempotency key, and atomically.
-- KEYS ledger
-- ARGV operation, key, key_hash
-- Shared rules, secret
-- Prologue open-account.lua: account, open_account, answer, moved_in
-- Library standing.lua
-- Library ledger.lua: MAX_BALANCE, CREDITED_KEPT_SECONDS, is_data_of, whole, of_account, tail, used_for, claim, file_key, forget_oldest, append
-- Answers done(balance) replayed(balance then, balance now) insufficient_coins(balance) balance_limit(balance) key_reused integrity_failed other_data
--
-- Only a refund (book.lua) can take a balance below 0, which is a debt. A credit adds its coins to a negative balance as to any other.
--
-- `operation` is the letter of the entry's type and the signed coins: "d-30". `secret` is the secret of the hashes of idempotency keys.
-- `rules` is '' for a client with default settings, else "<daily cap> <day> <proof wanted> <milliseconds kept>[ <origin>]":
-- - daily cap: the most coins that credits and purchases may add on the UTC day `day`. 0: no limit, as for a server key or an operator.
-- - proof wanted: 1 if a credit or a purchase needs an install that was proven genuine. A server key or an operator never needs one.
-- - milliseconds kept: the age at which entries are deleted. 0: entries stay forever.
-- - origin: the server key or the operator that makes the entry (entry-origin.ts). An entry of a client has no origin, so that its
--   calls need no longer argument.

if not is_data_of(secret) then return {'other_data'} end

local is_income = string.byte(operation) ~= 100 -- 100 is 'd', the letter of a debit
local daily_cap, day, proof_wanted, kept, origin
if rules ~= '' then daily_cap, day, proof_wanted, kept, origin = string.match(rules, '^(%d+) (%S+) (%d) (%d+) ?(%S*)$') end
if proof_wanted == '1' and is_income and redis.call('HEXISTS', account, 'installVerifiedAt') == 0 then return {'integrity_failed'} end

local coins = tonumber(string.sub(operation, 2))
local seq, balance = tail(ledger)
local after = balance + coins
local credited = daily_cap and daily_cap ~= '0' and is_income and of_account(ledger, 'credited:' .. day)

local refusal
if after < 0 and coins < 0 then refusal = 'insufficient_coins'
elseif after > MAX_BALANCE then refusal = 'balance_limit'
elseif credited and tonumber(redis.call('GET', credited) or '0') + coins > tonumber(daily_cap) then refusal = 'balance_limit' end

-- Most operations are simple: the ledger has entries, no check refuses the operation, and no guest moved into the account. For them `claim`
-- both checks and stores the idempotency key.
local is_simple = seq > 0 and not refusal and moved_in == ''
if not is_simple or not claim(ledger, key_hash, seq) then
  local used, then_balance, is_reused = used_for((string.gsub(operation, '%-', '%%-')), ledger, seq, key, key_hash, moved_in)
  if used then return {'replayed', then_balance, whole(balance)} end
  if is_reused then return {'key_reused'} end
  if refusal then return {refusal, whole(balance)} end
  if seq == 0 and not open_account(account, creation_barred) then return {'rate_limited'} end
  file_key(ledger, key_hash, whole(seq + 1), seq)
end

-- No line after this one refuses the operation.
append(ledger, seq + 1, after, coins, operation, key, origin)
if credited then
  redis.call('INCRBY', credited, whole(coins))
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

if kept then forget_oldest(ledger, kept, secret, seq + 1) end

return answer('done', whole(after))
