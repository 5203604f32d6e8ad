-- Counts the ledger entries that client addresses wrote: adds the numbers of a call to the sums of the UTC day, one for each address.
-- KEYS grown
-- ARGV entries
-- Answers done
--
-- `entries` is "<address> <entries> <address> <entries> …".

-- MOST_ADDRESSES: how many addresses are kept for a day, the busiest ones. KEPT_SECONDS: two days, because `npm run doctor` shows the sums
-- of today and yesterday.
local MOST_ADDRESSES = 1000
local KEPT_SECONDS = 172800

for address, count in string.gmatch(entries, '(%S+) (%d+)') do redis.call('ZINCRBY', grown, count, address) end
redis.call('ZREMRANGEBYRANK', grown, 0, -MOST_ADDRESSES - 1)
redis.call('EXPIRE', grown, KEPT_SECONDS)
return {'done'}
