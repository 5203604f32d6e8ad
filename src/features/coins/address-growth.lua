-- Adds numbers of ledger entries to the day's sums of addresses.
-- KEYS grown
-- ARGV entries
-- Answers done
--
-- `entries` is "<address> <entries> <address> <entries> …".

-- Most addresses of a day, and how long they are kept: the doctor shows today's and yesterday's.
local MOST_ADDRESSES = 1000
local KEPT_SECONDS = 172800

for address, count in string.gmatch(entries, '(%S+) (%d+)') do redis.call('ZINCRBY', grown, count, address) end
redis.call('ZREMRANGEBYRANK', grown, 0, -MOST_ADDRESSES - 1)
redis.call('EXPIRE', grown, KEPT_SECONDS)
return {'done'}
