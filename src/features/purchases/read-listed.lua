-- Reads part of an account's purchases, oldest first, for moves, deletions, exports and operators.
-- KEYS listed
-- ARGV from (the number of purchases before), count
-- Answers part(how many there are; purchase, time …)
return {'part', tostring(redis.call('ZCARD', listed)), unpack(redis.call('ZRANGE', listed, from, from + count - 1, 'WITHSCORES'))}
