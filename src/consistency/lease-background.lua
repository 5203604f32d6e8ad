-- Gives the lease of the background audit to one process at a time, and returns the result of the last audit.
-- KEYS state
-- ARGV holder, is_running, every_ms, lease_ms
-- Answers yours(ended at, seconds, findings) others(ended at, seconds, findings)
--
-- A process whose audit is running renews its lease, even if the lease has run out. Another process gets the lease if an audit is due and
-- nobody has the lease.
local ended_at, seconds, findings, leased_by, lease_end, retry_at =
  unpack(redis.call('HMGET', state, 'endedAt', 'seconds', 'findings', 'leasedBy', 'leaseEnd', 'retryAt'))
local is_free = not lease_end or tonumber(lease_end) <= tonumber(now)
local due_at = math.max(ended_at and ended_at + every_ms or 0, tonumber(retry_at or '0'))
local is_yours
if is_running == '1' then is_yours = leased_by == holder else is_yours = is_free and due_at <= tonumber(now) end
if is_yours then redis.call('HSET', state, 'leasedBy', holder, 'leaseEnd', string.format('%.0f', now + lease_ms)) end
return {is_yours and 'yours' or 'others', ended_at or '', seconds or '', findings or ''}
