-- Gives one process at a time a lease to relay events, or renews its lease.
-- KEYS state, chunks
-- ARGV holder, lease_ms (0: the holder gives the lease back)
-- Library lease.lua: leased_by, set_lease
-- Answers yours(the position after the last event, the position after the last readable event, the position of the oldest event) others
if (leased_by(state, lease_ms) or holder) ~= holder then return {'others'} end
-- If no relay ran for some time, processes may have run with EVENTS=off. `onSince` is the end of the last such time. The audit expects an
-- event only for ledger entries since then.
local PAUSE_MS = 60000
local lease_end = redis.call('HGET', state, 'leaseEnd')
if not lease_end or lease_end + PAUSE_MS < tonumber(now) then redis.call('HSET', state, 'onSince', now) end
-- The operator's commands see from the field `next` that a log exists.
redis.call('HSETNX', state, 'next', '0')
set_lease(state, holder, lease_ms)
local next, readable = unpack(redis.call('HMGET', state, 'next', 'readable'))
local oldest = redis.call('ZRANGE', chunks, 0, 0)[1]
return {'yours', next or '0', readable or '0', oldest and string.format('%d', oldest * 1000) or next or '0'}
