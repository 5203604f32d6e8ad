-- Books a ledger entry that the service itself makes, for bought coins, a refund or a prize: once per idempotency key, and atomically.
-- KEYS ledger, account, standing
-- ARGV letter (of the entry's type), coins (signed), key, key_hash, refuses_banned ('1' or ''), least (lowest balance after a refund), event (for a purchase: its letter and the words before the coins, or '')
-- Shared kept (milliseconds, 0: for ever), secret
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Library ledger.lua: MAX_BALANCE, is_data_of, whole, tail, used_for, file_key, forget_oldest, append
-- Answers done(coins, balance after, created 0|1) replayed(coins, balance then, balance now) balance_limit banned deleted(time) moving moved(account that it moved into) other_data
--
-- No caller can send the idempotency key of an entry of the service (service-key.ts). So an existing entry with this key means a replay,
-- even if the entry's coins differ. They may differ because a refund takes fewer coins than asked if the balance would otherwise fall below
-- `least`.
if not is_data_of(secret) then return {'other_data'} end
local state, detail, _, moved_in = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end

local seq, balance = tail(ledger)
local used, then_balance = used_for('%a%-?%d+', ledger, seq, key, key_hash, moved_in)
if used then return {'replayed', string.sub(used, 2), then_balance, whole(balance)} end
if state == 'banned' and refuses_banned == '1' then return {'banned'} end

local booked = math.max(tonumber(coins), math.min(tonumber(least) - balance, 0))
local after = balance + booked
if after > MAX_BALANCE then return {'balance_limit'} end

-- No line after this one refuses the booking.
local created = seq == 0 and create_account(account)
file_key(ledger, key_hash, whole(seq + 1), seq)
append(ledger, seq + 1, after, booked, letter .. whole(booked), key)
if event ~= '' then
  local store, product = string.match(event, '^%a %S+ (%S+) (%S+)')
  local of_product = store .. ':' .. product
  -- A refund that is reversed gives coins back, so it counts below 0.
  if letter == 'r' then count_today('refunded:' .. of_product, -booked)
  else
    count_today('bought:' .. of_product, booked)
    count_today('sold:' .. of_product, 1)
  end
  tell_event(string.match(account, '^{(.-)}'), string.sub(event, 1, 1), string.sub(event, 3) .. ' ' .. whole(booked))
end
if letter == 'w' then count_today('prizes', 1) end
forget_oldest(ledger, kept, secret, seq + 1)
return {'done', whole(booked), whole(after), created and '1' or '0'}
