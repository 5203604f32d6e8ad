-- Lets one process at a time ask the store for refunds.
-- KEYS asked
-- ARGV holder, every_ms, lease_ms
-- Answers yours(asked at, or 0) others(asked at, or 0)
--
-- `askedAt` is the time of the last question that the store answered completely. A time in the future comes from a wrong clock; ignore it.
local CLOCKS_DIFFER_MS = 60000
local asked_at, lease_end = unpack(redis.call('HMGET', asked, 'askedAt', 'leaseEnd'))
if asked_at and tonumber(asked_at) > now + CLOCKS_DIFFER_MS then asked_at = nil end
if lease_end and tonumber(lease_end) > now + lease_ms + CLOCKS_DIFFER_MS then lease_end = nil end
local is_due = not asked_at or asked_at + every_ms <= tonumber(now)
local is_free = not lease_end or tonumber(lease_end) <= tonumber(now)
if not is_due or not is_free then return {'others', asked_at or '0'} end
redis.call('HSET', asked, 'leasedBy', holder, 'leaseEnd', string.format('%.0f', now + lease_ms))
return {'yours', asked_at or '0'}
