-- Reads an account, even if it is banned, moved or deleted.
-- KEYS account, standing
-- ARGV -
-- Library standing-changes.lua: record_of
-- Answers account(exists 0|1, record of its standing, field, value …)
local fields = redis.call('HGETALL', account)
return {'account', #fields > 0 and '1' or '0', record_of(standing), unpack(fields)}
