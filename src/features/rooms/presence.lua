-- Marks the players of a room as connected or away, by the leases of their connections. If the host is away for too long, makes another
-- player the host. If a player is away for longer than the room's seatGraceSeconds, frees the player's seat.
-- KEYS room, leases
-- ARGV event, account_id, tab, members, lease_ms, grace_ms, silent_ms, served_since, ttl_ms
-- Prologue check-caller.lua
-- Library standing.lua: guest_set
-- Library room.lua: find_room, public_fields, seated_ids, seat_fields, seat_of, last_order, set, keep, drop, fills_up, start_room, set_host, vacate, settle
-- Answers seated(player id, is host, due at or '', private, last order of the tab, field, value …) checked(next check or '', due at or '', members without a lease, field, value …) room_not_found not_in_room
--
-- Each connection of a player or a server on the room's channel has a lease. The process of the connection renews the lease, so the leases
-- of a dead process run out. The sorted set `leases` has the members "<account id>:<connection id>", or "server:<connection id>" for a
-- server. The score is the time at which the lease ends. `event` tells the script what to do with the leases of `members`: `hello` and
-- `grant` grant them, `renew` extends those that have not ended, `bye` ends them, and `check` changes none.
--
-- account_id    of the caller of `hello`; '' for a server
-- silent_ms     for how long nothing had come from the connection that ended (`bye`) because its network was down
-- served_since  since when processes could take channels without a gap, in milliseconds since 1970. The grace of a seat begins anew then.
--               Seats are freed by `check` alone, for which this time is up to date
--
-- In the answer `due at` is the time at which the host's role or a seat is lost, and `next check` the time at which a process has to run this
-- script for the room again. If the room's entry in lists changes, the answer has the room's public fields.
local at = tonumber(now)
local found, server_before, public, grace = find_room(room, 'server:here', 'public', 'seatGraceSeconds')
if not found then
  redis.call('DEL', leases)
  return {'room_not_found'}
end
local was_in_lobby = found.phase == 'lobby'

local you, is_guests
if event == 'hello' and account_id == '' then you = 'server'
elseif event == 'hello' then
  you, is_guests = seat_of(found, account_id, guest_set(moved_in))
  if not you then return {'not_in_room'} end
  if is_guests then keep(found, you .. ':account', account_id) end
  -- The player now has a channel. An act from before the channel must not keep the room in lists after the channel has ended.
  drop(found, you .. ':acted')
end

local function account_of(member) return string.match(member, '^[^:]+') end

-- The room must be in the queue before a lease is granted. So `renew` does not grant a lease that has ended, because the room may have left
-- the queue.
local lease_end = at + tonumber(lease_ms)
local without, went_at = {}, {}
for member in string.gmatch(members, '%S+') do
  if event == 'bye' then
    redis.call('ZREM', leases, member)
    went_at[account_of(member)] = at - tonumber(silent_ms)
  elseif event ~= 'renew' or redis.call('ZSCORE', leases, member) then redis.call('ZADD', leases, lease_end, member)
  else without[#without + 1] = member end
end

-- A lease that ran out was last renewed `lease_ms` before its end. The player counts as away since that renewal.
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'WITHSCORES')
for index = 1, #ended, 2 do went_at[account_of(ended[index])] = tonumber(ended[index + 1]) - tonumber(lease_ms) end
if #ended > 0 then redis.call('ZREMRANGEBYSCORE', leases, '-inf', at) end

local leased = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
local is_here = {}
for index = 1, #leased, 2 do is_here[account_of(leased[index])] = true end

local is_server_changed = is_here.server ~= (server_before and true or nil)
if is_server_changed and is_here.server then
  keep(found, 'server:here', '1')
  drop(found, 'server:acted')
elseif is_server_changed then drop(found, 'server:here') end

local ids = seated_ids(found.players)
local owners, aways, records = seat_fields(room, ids, ':account'), seat_fields(room, ids, ':away'), seat_fields(room, ids, '')
local grace_of_seat = tonumber(grace) and found.phase ~= 'ended' and 1000 * tonumber(grace)
local is_away_since, is_leaving, first_here, seat_due = {}, {}, nil, nil
for place, id in ipairs(ids) do
  local owner, away_since = id == you and account_id or owners[place], tonumber(aways[place] or nil)
  local here = is_here[owner] == true
  local ready, connected, rest = string.match(records[place], '<seat: ready, connected, joined_at..name>')
  if here ~= (connected == 'true') then
    set(found, id, string.format('<seat: ready, connected, joined_at..name>', ready, tostring(here), rest))
    away_since = not here and (went_at[owner] or at) or nil
    if away_since then keep(found, id .. ':away', string.format('%d', away_since))
    else drop(found, id .. ':away') end
  end
  if away_since then
    is_away_since[id] = away_since
    local due = grace_of_seat and math.max(away_since, tonumber(served_since)) + grace_of_seat
    if due and due <= at and event == 'check' then is_leaving[id] = true
    elseif due then seat_due = math.min(seat_due or due, due) end
  elseif here and not first_here then first_here = id end
end
if next(is_leaving) then vacate(found, is_leaving)
elseif event == 'hello' and not next(is_away_since) and fills_up(found) then start_room(found) end

-- The time at which an absent host stops being the host, or nil if the host remains. A host who plays only over HTTP never had a channel,
-- so such a host does not count as away, and remains the host.
local host_away_since = found.host and is_away_since[found.host]
local host_due = host_away_since and not is_leaving[found.host] and host_away_since + tonumber(grace_ms) or nil
if host_due and host_due <= at and first_here and found.phase ~= 'ended' then set_host(found, first_here) end
if host_due and host_due <= at then host_due = nil end

local due_at = host_due and seat_due and math.min(host_due, seat_due) or host_due or seat_due
local next_check = leased[2] and tonumber(leased[2]) or due_at
if next_check and due_at then next_check = math.min(next_check, due_at) end
if leased[2] then redis.call('PEXPIRE', leases, ttl_ms) end

local function time_text(time) return time and string.format('%d', time) or '' end
local is_listed = public == 'true' and was_in_lobby and (is_server_changed or #found.public > 0)
settle(found, ttl_ms)
local answer
if event ~= 'hello' then answer = {'checked', time_text(next_check), time_text(due_at), table.concat(without, ' ')}
else
  local private = redis.call('HGET', room, you .. ':private') or ''
  answer = {'seated', you, you == (found.host or 'server') and '1' or '0', time_text(due_at), private, (last_order(found, you, tab))}
end
return is_listed and public_fields(room, answer, true) or answer
