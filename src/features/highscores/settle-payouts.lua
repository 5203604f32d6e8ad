-- Records the outcomes of the payouts at the head of `unpaid`.
-- KEYS season, payouts, unpaid
-- ARGV outcomes ('<player id> <outcome>', separated by commas; 'later' in place of an outcome puts the payout at the end of the list)
-- Answers settled
--
-- Another process may already have recorded some of these outcomes. If a payout has an outcome, it is not counted again.
local paid_coins, paid = 0, 0
for player_id, outcome in string.gmatch(outcomes, '([^ ,]+) ([^,]+)') do
  local account_id, coins, known = string.match(redis.call('HGET', payouts, player_id) or '', '<payout>')
  if known == '' and outcome ~= 'later' then
    redis.call('HSET', payouts, player_id, string.format('<payout>', account_id, coins, outcome))
    if outcome == 'paid' then paid, paid_coins = paid + 1, paid_coins + tonumber(coins) end
  end
  if redis.call('LINDEX', unpaid, 0) == player_id then
    redis.call('LPOP', unpaid)
    if outcome == 'later' then redis.call('RPUSH', unpaid, player_id) end
  end
end
if paid > 0 then
  redis.call('HINCRBY', season, 'paid', string.format('%d', paid))
  redis.call('HINCRBY', season, 'paidCoins', string.format('%d', paid_coins))
end
local facts = redis.call('HMGET', season, 'state', 'isNoted')
if facts[1] == 'paying' and facts[2] and redis.call('EXISTS', unpaid) == 0 then redis.call('HSET', season, 'state', 'paid') end
return {'settled'}
