-- Records that a ledger has an entry of a move, and computes the move's next entry. The first entry takes the coins from the previous
-- owner, and the second gives them to the new owner.
-- KEYS purchase
-- ARGV booked (the transfer as it was read), taken (coins that the entry took)
-- Prelude purchase-coins.lua: whole, add, decide, document
-- Answers recorded(field, value …)
local transfer, owner, text = unpack(redis.call('HMGET', purchase, 'transfer', 'owner', 'moves'))
if transfer ~= booked then return {'recorded', document()} end
local type, coins, _, number = string.match(transfer, '^(%S+) %-?(%d+) (%S+) (%S+)$')
if type == 'refund' then
  local moves = cjson.decode(text)
  moves[#moves].taken = taken
  redis.call('HSET', purchase, 'moves', cjson.encode(moves), 'transfer', string.format('topup %s %s %s', coins, owner, number))
else
  redis.call('HDEL', purchase, 'transfer')
  decide()
end
return {'recorded', document()}
