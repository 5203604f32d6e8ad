-- Functions for scripts that change a purchase. Gives whole(), add(), decide() and document(). Needs purchase (a key).
--
-- The record of a purchase has the store's latest answer (state, quantity, refunded), and sums of the purchase's ledger entries:
-- grantedUnits and granted (coins) for type topup, returnedUnits and taken (coins) for type refund. `entries` is the number of ledger
-- entries so far. `booking` is the open entry, "<type> <coins> <units>". The sums do not include this entry yet, but a ledger may already
-- have the entry. The entry's idempotency key consists of the purchase and the number `entries`, so a repeated booking makes no second
-- entry. Only one entry is open at a time. The open entry is computed from the store's answer and the sums, so repeated or reordered
-- notifications change nothing.

local function whole(number) return string.format('%d', number) end

-- Returns the coins of some units, rounded. Units may be fractions, because a store may refund a part of a unit.
local function coins_of(units, unit_coins) return math.floor(units * unit_coins + 0.5) end

-- The smallest difference of units for which an entry is made. Smaller differences come from the rounding of fractions.
local LEAST_UNITS = 1e-6

local function add(field, by)
  redis.call('HSET', purchase, field, string.format('%.14g', (redis.call('HGET', purchase, field) or 0) + by))
end

-- Computes the next ledger entry, if the sums differ from the store's answer. Returns the entry's type, or nil.
local function decide()
  -- During an operator's move a refund waits until the new owner has the coins, because with REFUNDS=floor a refund takes at most the
  -- balance.
  if redis.call('HEXISTS', purchase, 'transfer') == 1 then return end
  local booking, owner, state, unit_coins, quantity, refunded, granted_units, granted, returned_units, taken =
    unpack(redis.call('HMGET', purchase,
      'booking', 'owner', 'state', 'unitCoins', 'quantity', 'refunded', 'grantedUnits', 'granted', 'returnedUnits', 'taken'))
  if booking or owner == '-' or state == 'pending' or not unit_coins then return end
  unit_coins, granted_units, granted = tonumber(unit_coins), tonumber(granted_units or '0'), tonumber(granted or '0')
  returned_units, taken = tonumber(returned_units or '0'), tonumber(taken or '0')
  local due_units = state == 'purchased' and quantity - refunded or 0
  local units = due_units - (granted_units - returned_units)
  if math.abs(units) < LEAST_UNITS then return end

  local type, coins
  if units > 0 and returned_units < LEAST_UNITS then
    type = 'topup'
    coins = coins_of(granted_units + units, unit_coins) - granted
  else
    type = 'refund'
    -- A reversed refund gives back the coins that the refund's entries took. With REFUNDS=floor these may be fewer coins than the units
    -- that were refunded had given.
    units = math.max(-units, -returned_units)
    local owed = coins_of(returned_units + units, unit_coins)
    coins = units > 0 and coins_of(returned_units, unit_coins) - owed or math.max(0, taken - owed)
  end
  if coins == 0 then
    add(type == 'topup' and 'grantedUnits' or 'returnedUnits', units)
    return decide()
  end
  redis.call('HINCRBY', purchase, 'entries', 1)
  redis.call('HSET', purchase, 'booking', string.format('%s %d %.14g', type, coins, units))
  return type
end

-- Returns the record of the purchase as field, value, field, value …
local function document() return unpack(redis.call('HGETALL', purchase)) end
