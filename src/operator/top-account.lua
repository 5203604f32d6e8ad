-- Reads the figure of an account for the lists of the first accounts: its balance, or how it grew or what it spent since a time.
-- KEYS ledger
-- ARGV by (balance, growth or spent), since (milliseconds since 1970)
-- Answers none figure(coins, 1 if the account spent more than the entries that were read)
local MOST_SPENT = 2000 -- the most entries that are read, in about a millisecond
local last = redis.call('LINDEX', ledger, -1)
if not last then return {'none'} end
local balance, written_at = string.match(last, '<entry: balance, at>')
if by == 'balance' then return {'figure', balance, ''} end
local from = tonumber(since)
if not written_at or tonumber(written_at, 36) < from then return {'none'} end

-- The place of the first entry since the time. The entries are in the order of their times, except for differences between the clocks of
-- the service's processes.
local low, high = 0, redis.call('LLEN', ledger) - 1
local length = high + 1
while low < high do
  local middle = math.floor((low + high) / 2)
  local at = string.match(redis.call('LINDEX', ledger, middle), '<entry: at>')
  if tonumber(at, 36) >= from then high = middle else low = middle + 1 end
end
if by == 'growth' then
  local first_balance, coins = string.match(redis.call('LINDEX', ledger, low), '<entry: balance, coins>')
  return {'figure', string.format('%d', balance - (first_balance - coins)), ''}
end
local sum = 0
local begin = math.max(low, length - MOST_SPENT)
for _, entry in ipairs(redis.call('LRANGE', ledger, begin, -1)) do
  local letter, coins = string.match(entry, '<entry: letter, coins>')
  if letter == 'd' then sum = sum - coins end
end
return {'figure', string.format('%d', sum), begin > low and '1' or ''}
