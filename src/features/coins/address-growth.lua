-- Adds the numbers of ledger entries that client addresses wrote to their sums of the UTC day.
-- KEYS grown
-- ARGV entries
-- Answers done
--
-- `entries` is "<address> <entries> <address> <entries> …".

-- MOST_ADDRESSES: the busiest addresses that a day keeps. KEPT_SECONDS: two days, because `npm run doctor` shows the sums of today and
-- yesterday.
local MOST_ADDRESSES = 1000
local KEPT_SECONDS = 172800

for address, count in string.gmatch(entries, '(%S+) (%d+)') do redis.call('ZINCRBY', grown, count, address) end
redis.call('ZREMRANGEBYRANK', grown, 0, -MOST_ADDRESSES - 1)
redis.call('EXPIRE', grown, KEPT_SECONDS)
return {'done'}
