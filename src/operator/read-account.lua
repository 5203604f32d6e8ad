-- Reads an account, whether or not it may act.
-- KEYS account, moves
-- ARGV -
-- Answers account(exists 0|1, move record, field, value …)
local fields = redis.call('HGETALL', account)
return {'account', #fields > 0 and '1' or '0', redis.call('GET', moves) or '', unpack(fields)}
