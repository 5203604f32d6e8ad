-- Leases: one process at a time does a piece of work. A hash of the work has the process in `leasedBy`, and in `leaseEnd` the end in
-- milliseconds since 1970. Takes `now` of the batch, which is the time by Redis's clock.
-- Gives leased_by(), set_lease() and end_lease().

-- The process that has the lease. nil: any process may take it. '': until its end none may.
-- A lease that ends too late was written with a wrong clock, and does not count.
local function leased_by(work, lease_ms)
  local CLOCKS_DIFFER_MS = 60000
  local holder, ends = unpack(redis.call('HMGET', work, 'leasedBy', 'leaseEnd'))
  ends = tonumber(ends or 0)
  if ends > tonumber(now) and ends < now + lease_ms + CLOCKS_DIFFER_MS then return holder or '' end
end

-- Gives a process the lease, or renews it. With the process '' nobody has it until its end.
local function set_lease(work, holder, lease_ms)
  redis.call('HSET', work, 'leasedBy', holder, 'leaseEnd', string.format('%.0f', now + lease_ms))
end

-- Returns whether the process had the lease, even if it has run out meanwhile.
local function end_lease(work, holder)
  if redis.call('HGET', work, 'leasedBy') ~= holder then return false end
  redis.call('HDEL', work, 'leasedBy', 'leaseEnd')
  return true
end
