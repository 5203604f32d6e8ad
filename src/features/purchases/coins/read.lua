-- Reads the record of a purchase of coins.
-- KEYS purchase
-- ARGV -
-- Answers found(field, value …) unknown
local found = redis.call('HGETALL', purchase)
if #found == 0 then return {'unknown'} end
return {'found', unpack(found)}
