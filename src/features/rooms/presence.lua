-- Marks players of a room connected or away on its live channel, and passes an absent host's role on.
-- KEYS room, leases, due
-- ARGV event, code, account_id, members, lease_ms, grace_ms, now, now_text, ttl_ms, expires_text
-- Prologue prologue-check.lua
-- Library head.lua
-- Prelude doc.lua: read_room, of_seats, seat_of, hand_seat, write_room, at
-- Answers seated(player id, is host) looked(account that moved …) room_not_found not_in_room
--
-- Each connection has a lease that its process renews, so the leases of a process that died run out. `leases` holds
-- "<account>:<connection>" by the lease's end. The script does not renew leases of a guest that moved into a store account,
-- because its installId and sessions are no longer valid. `due` holds codes of rooms by the time at which any process has to
-- run this script again.
local doc, state_text = read_room()
if not doc then
  redis.call('DEL', leases)
  redis.call('ZREM', due, code)
  return {'room_not_found'}
end

local you, is_guests, _
if event == 'hello' then
  you, _, is_guests = seat_of(doc, account_id)
  if not you then return {'not_in_room'} end
  if is_guests then hand_seat(you, account_id) end
end

local function account_of(member) return string.match(member, '^[^:]+') end

local has_moved, moved = {}, {}
local function has_caller(member)
  local account = account_of(member)
  if has_moved[account] == nil then
    has_moved[account] = redis.call('GETRANGE', '{' .. account .. '}:moves', 0, 0) == '>'
    if has_moved[account] then moved[#moved + 1] = account end
  end
  return not has_moved[account]
end

for member in string.gmatch(members, '%S+') do
  if event == 'hello' or (event == 'renew' and has_caller(member)) then
    redis.call('ZADD', leases, at + tonumber(lease_ms), member)
  else
    redis.call('ZREM', leases, member)
  end
end

-- A lease that ran out was last renewed lease_ms before its end. The player counts as away since then.
local went_at = {}
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'WITHSCORES')
for index = 1, #ended, 2 do went_at[account_of(ended[index])] = tonumber(ended[index + 1]) - tonumber(lease_ms) end
if #ended > 0 then redis.call('ZREMRANGEBYSCORE', leases, '-inf', at) end

local standing = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
local is_here = {}
for index = 1, #standing, 2 do is_here[account_of(standing[index])] = true end

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

local next_look = standing[2] and tonumber(standing[2])
if host_due and host_due > at then next_look = math.min(next_look or host_due, host_due) end
if next_look then
  redis.call('ZADD', due, next_look, code)
  redis.call('PEXPIRE', leases, ttl_ms)
else
  redis.call('ZREM', due, code)
end

if changed or is_guests then write_room(doc, state_text) end
if event ~= 'hello' then return {'looked', unpack(moved)} end
return {'seated', you.id, you.id == doc.hostId and '1' or '0'}
