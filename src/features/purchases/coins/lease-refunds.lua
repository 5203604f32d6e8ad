-- Gives a lease to ask the app store for refunds to one process at a time, when the store has not been asked for the length of the
-- interval.
-- KEYS asked
-- ARGV holder, every_ms, lease_ms
-- Library lease.lua: leased_by, set_lease
-- Answers yours(asked at, or 0) others(asked at, or 0)
--
-- `askedAt` is the time at which the last request was sent that the store answered completely. A time in the future comes from a wrong
-- clock, and is ignored.
local CLOCKS_DIFFER_MS = 60000
local asked_at = redis.call('HGET', asked, 'askedAt')
if asked_at and tonumber(asked_at) > now + CLOCKS_DIFFER_MS then asked_at = nil end
local is_due = not asked_at or asked_at + every_ms <= tonumber(now)
if not is_due or leased_by(asked, lease_ms) then return {'others', asked_at or '0'} end
set_lease(asked, holder, lease_ms)
return {'yours', asked_at or '0'}
