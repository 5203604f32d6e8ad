-- Gives the lease of the background audit to one process at a time, and returns the result of the last audit.
-- KEYS state
-- ARGV holder, is_running, every_ms, lease_ms
-- Library lease.lua: leased_by, set_lease
-- Answers yours(ended at, seconds, findings) others(ended at, seconds, findings)
--
-- A process whose audit is running renews its lease, even if the lease has run out. Another process gets the lease if an audit is due and
-- no process has the lease.
local ended_at, seconds, findings, last_holder, retry_at =
  unpack(redis.call('HMGET', state, 'endedAt', 'seconds', 'findings', 'leasedBy', 'retryAt'))
local due_at = math.max(ended_at and ended_at + every_ms or 0, tonumber(retry_at or '0'))
local is_yours
if is_running == '1' then is_yours = last_holder == holder else is_yours = due_at <= tonumber(now) and not leased_by(state, lease_ms) end
if is_yours then set_lease(state, holder, lease_ms) end
return {is_yours and 'yours' or 'others', ended_at or '', seconds or '', findings or ''}
