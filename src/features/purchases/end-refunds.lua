-- Ends a process's lease to ask the store for refunds.
-- KEYS asked
-- ARGV holder, asked_at (or '': the store did not answer), retry_ms
-- Answers ended gone
if redis.call('HGET', asked, 'leasedBy') ~= holder then return {'gone'} end
redis.call('HDEL', asked, 'leasedBy', 'leaseEnd')
if asked_at ~= '' then redis.call('HSET', asked, 'askedAt', asked_at)
else redis.call('HSET', asked, 'leaseEnd', string.format('%.0f', now + retry_ms)) end
return {'ended'}
