-- Who is there on a room's live channel: marks players connected or away, and passes an absent host's role on.
-- KEYS room, leases, due
-- ARGV event, code, account_id, members, lease_ms, grace_ms, now, now_text, ttl_ms, expires_text
-- Library head.lua
-- Prelude doc.lua: read_room, of_seats, seat_of, hand_seat, write_room, at
-- Answers seated(player id, is host) looked room_not_found not_in_room
--
-- A connection is a lease that its process renews, so that those of a process that died end by themselves. `leases` holds
-- "<account>:<connection>" by the time they end; `due` is when a room has to be looked at again, by code, for any process.
local doc, state_text = read_room()
if not doc then
  redis.call('DEL', leases)
  redis.call('ZREM', due, code)
  return {'room_not_found'}
end

local you, guest, _
if event == 'hello' then
  you, _, guest = seat_of(doc, account_id)
  if not you then return {'not_in_room'} end
  if guest then hand_seat(you, guest, account_id) end
end

for member in string.gmatch(members, '%S+') do
  if event == 'bye' then
    redis.call('ZREM', leases, member)
  else
    redis.call('ZADD', leases, at + tonumber(lease_ms), member)
  end
end

local function account_of(member) return string.match(member, '^[^:]+') end

-- A lease that ran out was last renewed its length ago: that is when its player went.
local went_at = {}
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'WITHSCORES')
for index = 1, #ended, 2 do went_at[account_of(ended[index])] = tonumber(ended[index + 1]) - tonumber(lease_ms) end
if #ended > 0 then redis.call('ZREMRANGEBYSCORE', leases, '-inf', at) end

local standing = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
local is_here = {}
for index = 1, #standing, 2 do is_here[account_of(standing[index])] = true end

local owners, guests, aways = of_seats(doc, ''), of_seats(doc, ':guest'), of_seats(doc, ':away')
local changed, host, host_away_since, successor
for place, player in ipairs(doc.players) do
  local owner, of_guest, away_since = owners[place], guests[place], aways[place]
  local here = is_here[owner] == true or is_here[of_guest] == true
  if here ~= player.connected then
    player.connected = here
    away_since = not here and (went_at[owner] or went_at[of_guest] or at)
    if away_since then redis.call('HSET', room, player.id .. ':away', string.format('%d', away_since))
    else redis.call('HDEL', room, player.id .. ':away') end
    changed = true
  end
  if player.id == doc.hostId then host, host_away_since = player, away_since and tonumber(away_since) end
  if here and not successor then successor = player end
end

-- A host that was never on the channel plays over HTTP alone, and stays host.
local host_due = host and not host.connected and host_away_since and host_away_since + tonumber(grace_ms)
if host_due and host_due <= at and successor and doc.phase ~= 'ended' then
  doc.hostId = successor.id
  changed = true
end

local next_look = standing[2] and tonumber(standing[2])
if host_due and host_due > at then next_look = math.min(next_look or host_due, host_due) end
if next_look then
  redis.call('ZADD', due, next_look, code)
  redis.call('PEXPIRE', leases, ttl_ms)
else
  redis.call('ZREM', due, code)
end

if changed or guest then write_room(doc, state_text) end
if event ~= 'hello' then return {'looked'} end
return {'seated', you.id, you.id == doc.hostId and '1' or '0'}
