-- Removes the ids of deleted accounts from a season's payouts. A payout without an outcome gets the outcome `deleted`.
-- KEYS payouts, secret
-- ARGV accounts (separated by blanks)
-- Library board.lua: id_of
-- Answers forgotten
local secret_text = redis.call('GET', secret)
if not secret_text or redis.call('EXISTS', payouts) == 0 then return {'forgotten'} end
for account_id in string.gmatch(accounts, '%S+') do
  local player_id = id_of(secret_text, account_id)
  local coins, outcome = string.match(redis.call('HGET', payouts, player_id) or '', '<payout: coins, outcome>')
  if coins then redis.call('HSET', payouts, player_id, string.format('<payout>', '-', coins, outcome == '' and 'deleted' or outcome)) end
end
return {'forgotten'}
