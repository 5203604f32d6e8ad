-- Lets one process at a time relay events, and renews its lease.
-- KEYS state, chunks
-- ARGV holder, lease_ms (0: the holder gives the lease back)
-- Answers yours(the position after the last event, the position after the last readable event, the position of the oldest event) others
local leased_by, lease_end = unpack(redis.call('HMGET', state, 'leasedBy', 'leaseEnd'))
-- A lease that ends too late was written with a wrong clock.
local CLOCKS_DIFFER_MS = 60000
local is_leased = lease_end and tonumber(lease_end) > tonumber(now) and tonumber(lease_end) < now + lease_ms + CLOCKS_DIFFER_MS
if is_leased and leased_by ~= holder then return {'others'} end
-- After a pause without a relay, processes may have run with EVENTS=off. The audit then expects events only for ledger entries from now on.
local PAUSE_MS = 60000
if not lease_end or lease_end + PAUSE_MS < tonumber(now) then redis.call('HSET', state, 'onSince', now) end
-- The operator's commands recognize by `next` that a log exists.
redis.call('HSETNX', state, 'next', '0')
redis.call('HSET', state, 'leasedBy', holder, 'leaseEnd', string.format('%.0f', now + lease_ms))
local next, readable = unpack(redis.call('HMGET', state, 'next', 'readable'))
local oldest = redis.call('ZRANGE', chunks, 0, 0)[1]
return {'yours', next or '0', readable or '0', oldest and string.format('%d', oldest * 1000) or next or '0'}
