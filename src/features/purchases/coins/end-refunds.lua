-- Ends the lease with which a process asks the app store for refunds.
-- KEYS asked
-- ARGV holder, asked_at (or '': the store did not answer), retry_ms
-- Library lease.lua: set_lease, end_lease
-- Answers ended gone
if not end_lease(asked, holder) then return {'gone'} end
if asked_at ~= '' then redis.call('HSET', asked, 'askedAt', asked_at) else set_lease(asked, '', retry_ms) end
return {'ended'}
