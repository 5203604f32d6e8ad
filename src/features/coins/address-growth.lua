-- Adds the ledger entries of addresses to those of the day.
-- KEYS grown
-- ARGV entries
-- Answers done
--
-- `entries` is "<address> <entries> <address> <entries> …".

-- A day's addresses, and for how long they are kept: the doctor tells those of today and of yesterday.
local MOST_ADDRESSES = 1000
local KEPT_SECONDS = 172800

for address, count in string.gmatch(entries, '(%S+) (%d+)') do redis.call('ZINCRBY', grown, count, address) end
redis.call('ZREMRANGEBYRANK', grown, 0, -MOST_ADDRESSES - 1)
redis.call('EXPIRE', grown, KEPT_SECONDS)
return {'done'}
