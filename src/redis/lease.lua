-- Leases, with which only one process at a time does a piece of work. The hash of a piece of work names the process in `leasedBy`, and the
-- end of its lease in `leaseEnd`, in milliseconds since 1970. The functions use `now` of the batch of scripts, which is the time by Redis's
-- clock. Gives leased_by(), is_leased(), set_lease() and end_lease().

-- Returns the process that has the lease. nil: any process may take the lease. '': no process may take it before its end. If a lease ends
-- more than `lease_ms` and a minute from now, it was written with a wrong clock, and is ignored.
local function leased_by(work, lease_ms)
  local CLOCKS_DIFFER_MS = 60000
  local holder, ends = unpack(redis.call('HMGET', work, 'leasedBy', 'leaseEnd'))
  ends = tonumber(ends or 0)
  if ends > tonumber(now) and ends < now + lease_ms + CLOCKS_DIFFER_MS then return holder or '' end
end

local function is_leased(work)
  return tonumber(redis.call('HGET', work, 'leaseEnd') or 0) > tonumber(now)
end

-- Gives a process the lease, or renews its lease. With the holder '' no process has the lease, and none can take it before its end.
local function set_lease(work, holder, lease_ms)
  redis.call('HSET', work, 'leasedBy', holder, 'leaseEnd', string.format('%.0f', now + lease_ms))
end

-- Returns whether the process had the lease, even if the lease has run out meanwhile.
local function end_lease(work, holder)
  if redis.call('HGET', work, 'leasedBy') ~= holder then return false end
  redis.call('HDEL', work, 'leasedBy', 'leaseEnd')
  return true
end
