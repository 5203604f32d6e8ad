-- Gives a purchase to another account, and computes the first ledger entry that moves its coins. If the call repeats an idempotency key, it
-- moves nothing.
-- KEYS purchase
-- ARGV owner_seen, owner, key, by, reason, act, most_moves
-- Prelude purchase-coins.lua: whole, add, decide, document
-- Answers moved(field, value …) replayed(field, value …) key_reused busy changed full unknown
local known_owner, booking, transfer, granted, taken, text = unpack(redis.call('HMGET', purchase,
  'owner', 'booking', 'transfer', 'granted', 'taken', 'moves'))
if not known_owner then return {'unknown'} end
local moves = text and cjson.decode(text) or {}
for _, move in ipairs(moves) do
  if move.key == key then
    if move.to ~= owner then return {'key_reused'} end
    return {'replayed', document()}
  end
end
if known_owner ~= owner_seen then return {'changed'} end
-- The number of coins to move is known only after all ledger entries of the purchase are booked.
if booking or transfer then return {'busy'} end
if #moves >= tonumber(most_moves) then return {'full'} end

-- No line after this one refuses the move.
local coins = whole(math.max(0, tonumber(granted or '0') - tonumber(taken or '0')))
moves[#moves + 1] = {at = whole(now), from = known_owner, to = owner, coins = coins, key = key, by = by, reason = reason}
redis.call('HSET', purchase, 'owner', owner, 'act', act, 'moves', cjson.encode(moves),
  'transfer', string.format('refund -%s %s m%d', coins, known_owner, #moves))
return {'moved', document()}
