-- Ends the lease of a background audit, and keeps its result.
-- KEYS state
-- ARGV holder, seconds, findings (or ''), retry_ms
-- Library lease.lua: end_lease
-- Answers ended(ended at) gone
--
-- If `findings` is '', the audit was not complete: the result of the last complete audit stays, and the next audit is due after `retry_ms`.
if not end_lease(state, holder) then return {'gone'} end
redis.call('HDEL', state, 'retryAt')
if findings == '' then redis.call('HSET', state, 'retryAt', string.format('%.0f', now + retry_ms))
else redis.call('HSET', state, 'endedAt', now, 'seconds', seconds, 'findings', findings) end
return {'ended', now}
