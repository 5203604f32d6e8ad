-- Finds accounts in a part of the keys of one primary.
-- KEYS place (any key of the primary)
-- ARGV cursor (of SCAN, 0 at first), count
-- Answers part(next cursor, key …)
local part = redis.call('SCAN', cursor, 'MATCH', '{*}:account', 'COUNT', count)
return {'part', part[1], unpack(part[2])}
