-- Reads the data of an account that a list of accounts shows.
-- KEYS account, standing, ledger, sessions
-- ARGV -
-- Library standing-changes.lua: record_of
-- Answers none summary(createdAt, store, firstRunAt, record of its standing, newest entry of its ledger or '', entry of a session …)
local fields = redis.call('HMGET', account, 'createdAt', 'store', 'firstRunAt')
if redis.call('EXISTS', account) == 0 then return {'none'} end
for index = 1, 3 do fields[index] = fields[index] or '' end
local newest = redis.call('LINDEX', ledger, -1) or ''
-- The service keeps at most 50 sessions here. If another program has written into this key, it may be large. In that case no session is
-- read.
local seen = redis.call('HLEN', sessions) <= 100 and redis.call('HVALS', sessions) or {}
return {'summary', fields[1], fields[2], fields[3], record_of(standing), newest, unpack(seen)}
