-- Marks players of a room connected or away on its live channel, and passes an absent host's role on.
-- KEYS room, leases
-- ARGV event, account_id, members, lease_ms, grace_ms, now, now_text, ttl_ms, expires_text
-- Prologue prologue-check.lua
-- Library head.lua
-- Library standing.lua: guest_set
-- Prelude doc.lua: read_room, of_seats, seat_of, hand_seat, write_room, at
-- Answers seated(player id, is host, hand-over at or '') looked(next look or '', hand-over at or '') room_not_found not_in_room
--
-- Each connection has a lease that its process renews, so the leases of a process that died run out. `leases` holds
-- "<account>:<connection>" by the lease's end. The events: `hello` and `renew` grant leases to `members`, `bye` ends them,
-- `look` does neither. The next look is the time at which any process has to run this script again.
local doc, state_text = read_room()
if not doc then
  redis.call('DEL', leases)
  return {'room_not_found'}
end

local you, is_guests, _
if event == 'hello' then
  you, _, is_guests = seat_of(doc, account_id)
  if not you then return {'not_in_room'} end
  if is_guests then hand_seat(you, account_id) end
end

local function account_of(member) return string.match(member, '^[^:]+') end

for member in string.gmatch(members, '%S+') do
  if event == 'bye' then redis.call('ZREM', leases, member)
  else redis.call('ZADD', leases, at + tonumber(lease_ms), member) end
end

-- A lease that ran out was last renewed lease_ms before its end. The player counts as away since then.
local went_at = {}
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'WITHSCORES')
for index = 1, #ended, 2 do went_at[account_of(ended[index])] = tonumber(ended[index + 1]) - tonumber(lease_ms) end
if #ended > 0 then redis.call('ZREMRANGEBYSCORE', leases, '-inf', at) end

local leased = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
local is_here = {}
for index = 1, #leased, 2 do is_here[account_of(leased[index])] = true end

local owners, aways = of_seats(doc, ''), of_seats(doc, ':away')
local changed, host, host_away_since, successor
for place, player in ipairs(doc.players) do
  local owner, away_since = owners[place], aways[place]
  local here = is_here[owner] == true
  if here ~= player.connected then
    player.connected = here
    away_since = not here and (went_at[owner] or at)
    if away_since then redis.call('HSET', room, player.id .. ':away', string.format('%d', away_since))
    else redis.call('HDEL', room, player.id .. ':away') end
    changed = true
  end
  if player.id == doc.hostId then host, host_away_since = player, away_since and tonumber(away_since) end
  if here and not successor then successor = player end
end

-- A host that was never on the channel has no away time and stays host: it plays over HTTP only.
local host_due = host and not host.connected and host_away_since and host_away_since + tonumber(grace_ms)
if host_due and host_due <= at and successor and doc.phase ~= 'ended' then
  doc.hostId = successor.id
  changed = true
end
if host_due and host_due <= at then host_due = nil end

local next_look = leased[2] and tonumber(leased[2]) or host_due
if next_look and host_due then next_look = math.min(next_look, host_due) end
if leased[2] then redis.call('PEXPIRE', leases, ttl_ms) end

local function time_text(time) return time and string.format('%d', time) or '' end
if changed or is_guests then write_room(doc, state_text) end
if event ~= 'hello' then return {'looked', time_text(next_look), time_text(host_due)} end
return {'seated', you.id, you.id == doc.hostId and '1' or '0', time_text(host_due)}
