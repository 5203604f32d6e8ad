-- Marks players of a room connected or away, by the leases of their connections, and hands over the role of a host who is away too long.
-- KEYS room, leases
-- ARGV event, account_id, tab, members, lease_ms, grace_ms, ttl_ms
-- Prologue prologue-check.lua
-- Library standing.lua: guest_set
-- Library room.lua: find_room, seated_ids, seat_fields, seat_of, last_order, set, keep, drop, settle
-- Answers seated(player id, is host, hand-over at or '', private, last order of the tab) checked(next check or '', hand-over at or '', members without a lease) room_not_found not_in_room
--
-- Each connection of a player on the room's channel has a lease, which its process renews, so the leases of a dead process run out. The
-- sorted set `leases` has the members "<account id>:<connection id>" by the time at which the lease ends. `event` says what happens to the
-- leases of `members`: `hello` and `grant` grant them, `renew` extends those that have not ended, `bye` ends them, `check` changes none.
-- `next check` in the answer is the time at which a process has to run this script for the room again.
local at = tonumber(now)
local found = find_room(room)
if not found then
  redis.call('DEL', leases)
  return {'room_not_found'}
end

local you, is_guests
if event == 'hello' then
  you, is_guests = seat_of(found, account_id, guest_set(moved_in))
  if not you then return {'not_in_room'} end
  if is_guests then keep(found, you .. ':account', account_id) end
end

local function account_of(member) return string.match(member, '^[^:]+') end

-- The queue must hold the room before a lease is granted. `renew` does not grant a lease that has ended, because the room may have left the
-- queue.
local lease_end = at + tonumber(lease_ms)
local without = {}
for member in string.gmatch(members, '%S+') do
  if event == 'bye' then redis.call('ZREM', leases, member)
  elseif event ~= 'renew' or redis.call('ZSCORE', leases, member) then redis.call('ZADD', leases, lease_end, member)
  else without[#without + 1] = member end
end

-- A lease that ran out was last renewed `lease_ms` before its end. The player is taken to be away since the last renewal.
local went_at = {}
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'WITHSCORES')
for index = 1, #ended, 2 do went_at[account_of(ended[index])] = tonumber(ended[index + 1]) - tonumber(lease_ms) end
if #ended > 0 then redis.call('ZREMRANGEBYSCORE', leases, '-inf', at) end

local leased = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
local is_here = {}
for index = 1, #leased, 2 do is_here[account_of(leased[index])] = true end

local ids = seated_ids(found.players)
local owners, aways, records = seat_fields(room, ids, ':account'), seat_fields(room, ids, ':away'), seat_fields(room, ids, '')
local host_is_here, host_away_since, successor
for place, id in ipairs(ids) do
  local owner, away_since = id == you and account_id or owners[place], aways[place]
  local here = is_here[owner] == true
  local ready, connected, rest = string.match(records[place], '<seat: ready, connected, joined_at..name>')
  if here ~= (connected == 'true') then
    set(found, id, string.format('<seat: ready, connected, joined_at..name>', ready, tostring(here), rest))
    away_since = not here and string.format('%d', went_at[owner] or at)
    if away_since then keep(found, id .. ':away', away_since)
    else drop(found, id .. ':away') end
  end
  if id == found.host then host_is_here, host_away_since = here, away_since and tonumber(away_since) end
  if here and not successor then successor = id end
end

-- The time at which an absent host loses the role of host. nil: the host keeps the role. A host who plays over HTTP only was never on the
-- channel, so this host has no away time and keeps the role.
local host_due = not host_is_here and host_away_since and host_away_since + tonumber(grace_ms) or nil
if host_due and host_due <= at and successor and found.phase ~= 'ended' then set_host(found, successor) end
if host_due and host_due <= at then host_due = nil end

local next_check = leased[2] and tonumber(leased[2]) or host_due
if next_check and host_due then next_check = math.min(next_check, host_due) end
if leased[2] then redis.call('PEXPIRE', leases, ttl_ms) end

local function time_text(time) return time and string.format('%d', time) or '' end
settle(found, ttl_ms)
if event ~= 'hello' then return {'checked', time_text(next_check), time_text(host_due), table.concat(without, ' ')} end
local private = redis.call('HGET', room, you .. ':private') or ''
return {'seated', you, you == found.host and '1' or '0', time_text(host_due), private, last_order(found, you, tab)}
