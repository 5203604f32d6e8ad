-- A library of functions for every script that reads or changes a room. Takes `now` of the batch.
-- Gives find_room(), find_room_of(), data_limit(), seated_ids(), seated_set(), is_seated(), count_seated(), seat_fields(), public_fields(), seat_of(), actor_in(), set(),
-- keep(), drop(), last_order(), is_done(), note_order(), note_presence(), fills_up(), start_room(), end_room(), set_host(), kicked_accounts(), was_kicked(), kick_out(), take_seat(), vacate(), settle() and reply().
--
-- A room is a hash. After a change, the public fields that it set are published. Each process with watchers keeps a copy of the public
-- fields, and makes the room's JSON from the copy (`record.ts`). So the cost of a change depends only on the changed fields, and not on the
-- size of the room.
--
-- The public fields:
--   FIELDS       the fields of the room itself (`roomFields` of record.ts). Times are in milliseconds since 1970. `state` and `tags` are
--                JSON text, which no script decodes, because cjson loses digits and turns [] into {}
--   players      ids of the seated players, longest seated first: 'p1 p3'
--   p2           the record of the player p2 (`playerRecord` of record.ts)
--   p2.data      the player's own public data, JSON text; missing at first
-- The fields that are not public:
--   given        the number of seats that were given out so far
--   messages     the number of the last message
--   contended    when a merge last had to be repeated because another process had written, in milliseconds since 1970
--   kicked       the ids of accounts that were kicked: ' id id '
--   startWhenFull  '1' if the room starts when its last free seat is taken
--   byMatch      '1' if a quick match created the room
--   graceOfMatch '1' if seatGraceSeconds is the default of a quick match, which ends when the room starts
--   server:here  '1' while a server has a channel
--   server:acted when a server without a channel last acted, in milliseconds since 1970
--   p2:account   the account in the seat of the player p2
--   p2:away      when the last connection of the player ended, in milliseconds since 1970; missing while the player has a connection, and
--                for a player who never had one
--   p2:acted     when the player last acted without a connection, in milliseconds since 1970. Only in the lobby
--   p2:private   the private part that only this player sees (`privatePart` of record.ts)
--   p2:tabs      the last order of each of the seat's newest tabs: lines of '<order> <tab>'. `server:tabs` has the tabs of servers
local MOST_TABS = 8 -- tabs whose last order a seat remembers

-- Returns a table with the fields that every script needs, then the values of the further fields that the caller names (false if a field
-- does not exist). Returns nil if the room does not exist or has expired. The table also collects the changes that settle() writes.
local function find_room(key, ...)
  local values = redis.call('HMGET', key, 'seq', 'updatedAt', 'expiresAt', 'phase', 'hostId', 'players', 'game', 'maxPlayers', 'writers', ...)
  local seq, updated_at, expires_at, phase, host, players, game, most, writers = unpack(values, 1, 9)
  if not expires_at or tonumber(expires_at) <= tonumber(now) then return nil end
  local room = {
    key = key, seq = tonumber(seq), updated_at = updated_at, phase = phase, host = host, players = players, game = game,
    most = tonumber(most), writers = writers, public = {}, kept = {}, dropped = {},
  }
  return room, unpack(values, 10)
end

local function with_seat(seat_id, room, account_id, tabs, ...)
  if room then room.seat_id, room.seat_account, room.seat_tabs = seat_id, account_id, tabs end
  return room, ...
end

-- find_room() for an act. `seat_id` is the seat for which the caller's channel was welcomed, or ''. The same call to Redis also reads the
-- account and the tabs of this seat, because actor_in() and is_done() need them.
local function find_room_of(key, seat_id, ...)
  return with_seat(seat_id, find_room(key, seat_id .. ':account', seat_id .. ':tabs', ...))
end

-- The most bytes of a seat's public data in a room with `seats` seats. All seats together have 16 KiB at most.
local function data_limit(seats) return math.min(1024, math.floor(16384 / seats)) end

local function is_seated(room, id) return string.find(' ' .. room.players .. ' ', ' ' .. id .. ' ', 1, true) ~= nil end
local function count_seated(room) return select(2, string.gsub(room.players, '%S+', '')) end

local function seated_ids(players)
  local ids = {}
  for id in string.gmatch(players, '%S+') do ids[#ids + 1] = id end
  return ids
end

-- The ids of the seated players as a set, for scripts that check for many players whether they are seated.
local function seated_set(room)
  local seated = {}
  for id in string.gmatch(room.players, '%S+') do seated[id] = true end
  return seated
end

-- The values of the fields "<player id><suffix>", in the order of `ids`. The value is false if a field does not exist.
local function seat_fields(key, ids, suffix)
  if #ids == 0 then return {} end
  local fields = {}
  for place, id in ipairs(ids) do fields[place] = id .. suffix end
  return redis.call('HMGET', key, unpack(fields))
end

-- How long a room stays in lists, in milliseconds, after one of three events: the last renewal of a channel by its process, an act of a
-- player without a channel, and in a server's room an act of a server without a channel.
local CHANNEL_PRESENT_MS, PLAYER_PRESENT_MS, SERVER_PRESENT_MS = 12000, 15000, 60000

-- The time until which somebody is known to be present in a room, in milliseconds since 1970, or 0 if nobody is present. In a server's
-- room, which has no host, only servers count as present. `records`: the records of the players `ids`
local function present_until(key, host, ids, records)
  local by_channel = tonumber(now) + CHANNEL_PRESENT_MS
  if not host then
    local is_here, acted = unpack(redis.call('HMGET', key, 'server:here', 'server:acted'))
    return is_here and by_channel or acted and acted + SERVER_PRESENT_MS or 0
  end
  for _, record in ipairs(records) do
    if string.match(record, '<seat: connected>') == 'true' then return by_channel end
  end
  local last = 0
  for _, acted in ipairs(seat_fields(key, ids, ':acted')) do
    if acted then last = math.max(last, acted + PLAYER_PRESENT_MS) end
  end
  return last > tonumber(now) and last or 0
end

-- Appends all public fields of a room to the words of `answer`, as name, value, name, value … If `for_lists` is true, a public room in the
-- lobby also gets a field `presentUntil`, the time of present_until().
local function public_fields(key, answer, for_lists)
  local values = redis.call('HMGET', key, unpack(FIELDS))
  local host, is_public, phase
  local count, players = #answer, ''
  for place, name in ipairs(FIELDS) do
    if values[place] then
      answer[count + 1], answer[count + 2] = name, values[place]
      count = count + 2
      if name == 'players' then players = values[place]
      elseif name == 'hostId' then host = values[place]
      elseif name == 'public' then is_public = values[place] == 'true'
      elseif name == 'phase' then phase = values[place] end
    end
  end
  local ids = seated_ids(players)
  local records, data = seat_fields(key, ids, ''), seat_fields(key, ids, '.data')
  for place, id in ipairs(ids) do
    answer[count + 1], answer[count + 2] = id, records[place]
    count = count + 2
    if data[place] then
      answer[count + 1], answer[count + 2] = id .. '.data', data[place]
      count = count + 2
    end
  end
  if for_lists and is_public and phase == 'lobby' then
    answer[count + 1], answer[count + 2] = 'presentUntil', string.format('%d', present_until(key, host, ids, records))
  end
  return answer
end

-- Returns the id of the player for which an account acts, and whether the seat still names a guest that moved into the account. Returns
-- nothing if the account has no seat. `is_guest`: the account's guests, as of guest_set(). An account has several seats if its guests took
-- seats before they moved. The function then prefers the host's seat, because otherwise nobody could act as the host. Next come the
-- account's own seat, and the first seat of a guest.
local function seat_of(room, account_id, is_guest)
  local ids = seated_ids(room.players)
  local own, guests, host
  local owners = seat_fields(room.key, ids, ':account')
  for place, owner in ipairs(owners) do
    local is_own, is_guests = owner == account_id, is_guest[owner]
    if is_own then own = own or place end
    if is_guests then guests = guests or place end
    if (is_own or is_guests) and ids[place] == room.host then host = place end
  end
  local place = host or own or guests
  if place then return ids[place], owners[place] ~= account_id end
end

-- Returns the actor (the player id of the caller's seat, or 'server' for a server key), and whether the seat still names a guest that moved
-- into the account. If the caller may not act, returns nil and the word of the script's answer.
-- is_guest   the guests that moved into the account, as of guest_set()
-- key_game   '' for a player; for a server key its game, or '*' for all games
local function actor_in(room, account_id, is_guest, key_game)
  if key_game ~= '' then
    if key_game ~= '*' and room.game ~= key_game then return nil, 'forbidden' end
    return 'server', false
  end
  if room.seat_account == account_id then return room.seat_id, false end
  local id, is_guests = seat_of(room, account_id, is_guest)
  if not id then return nil, 'not_in_room' end
  return id, is_guests
end

-- Notes the new value of a public field. settle() writes and publishes it, and raises seq.
local function set(room, name, value)
  local public = room.public
  public[#public + 1], public[#public + 2] = name, value
end

-- Notes the new value of a field that is not public. settle() writes it.
local function keep(room, name, value)
  local kept = room.kept
  kept[#kept + 1], kept[#kept + 2] = name, value
end

-- Notes fields that settle() deletes.
local function drop(room, ...)
  for _, name in ipairs({...}) do room.dropped[#room.dropped + 1] = name end
end

-- Returns the last order that a seat's tab has done ('0' at first), and the lines of the seat's other tabs.
local function last_order(room, actor, tab)
  local last, others, count = '0', {}, 0
  local tabs = room.seat_tabs
  if actor ~= room.seat_id then tabs = redis.call('HGET', room.key, actor .. ':tabs') end
  for line in string.gmatch(tabs or '', '[^\n]+') do
    local order, name = string.match(line, '^(%d+) (.*)$')
    if name == tab then last = order
    elseif count < MOST_TABS - 1 then
      count = count + 1
      others[count] = line
    end
  end
  return last, table.concat(others, '\n')
end

-- Whether the seat's tab has already done an act with this order or a higher order.
local function is_done(room, actor, order, tab)
  if order == '' then return false end
  local last
  last, room.other_tabs = last_order(room, actor, tab)
  return tonumber(order) <= tonumber(last)
end

-- Notes the order as the last order that the tab has done. To be called after is_done().
local function note_order(room, actor, order, tab)
  if order ~= '' then keep(room, actor .. ':tabs', order .. ' ' .. tab .. '\n' .. room.other_tabs) end
end

-- Notes that a player or a server without a channel has acted. This note keeps a public room in lists for a while, even if the room becomes
-- public only later. An act over a channel is not noted, because the channel itself keeps the room in lists. Such an act does not ask for
-- the whole room, or its player is connected. If this is the first act over HTTP since the player's last channel ended, the answer says so
-- (`presenceBegins`), because lists may have lost the room when that channel ended.
local function note_presence(room, actor, is_whole)
  if is_whole == '' or room.phase ~= 'lobby' or (actor == 'server') == (room.host and true or false) then return end
  local record, acted = unpack(redis.call('HMGET', room.key, actor == 'server' and 'server:here' or actor, actor .. ':acted'))
  local is_here = record and (actor == 'server' or string.match(record, '<seat: connected>') == 'true')
  if is_here then return end
  keep(room, actor .. ':acted', now)
  room.presence_begins = not acted
end

local function start_room(room)
  room.phase = 'playing'
  count_today('matches', 1)
  set(room, 'phase', 'playing')
  set(room, 'startedAt', now)
  if redis.call('HGET', room.key, 'graceOfMatch') then
    set(room, 'seatGraceSeconds', 'null')
    drop(room, 'graceOfMatch')
  end
end

-- Whether all seats of a room in the lobby are taken and the room has the setting `startWhenFull`. Such a room starts if no seated player
-- is away.
local function fills_up(room)
  return room.phase == 'lobby' and count_seated(room) == room.most and redis.call('HGET', room.key, 'startWhenFull') == '1'
end

local function end_room(room)
  if room.phase == 'ended' then return end
  room.phase = 'ended'
  set(room, 'phase', 'ended')
  set(room, 'endedAt', now)
end

local function set_host(room, id)
  room.host = id
  set(room, 'hostId', id)
end

-- Frees the seats of the players in the set `is_leaving`. If the host leaves, the longest-seated remaining player becomes the host. A room
-- without players ends, unless it is a server's room, which has no host.
local function vacate(room, is_leaving)
  local staying = {}
  for _, id in ipairs(seated_ids(room.players)) do
    if is_leaving[id] then drop(room, id, id .. '.data', id .. ':account', id .. ':away', id .. ':acted', id .. ':private', id .. ':tabs')
    else staying[#staying + 1] = id end
  end
  room.players = table.concat(staying, ' ')
  set(room, 'players', room.players)
  if not room.host then return end
  if #staying == 0 then end_room(room)
  elseif is_leaving[room.host] then set_host(room, staying[1]) end
end

local function kicked_accounts(room) return redis.call('HGET', room.key, 'kicked') or ' ' end

-- Whether the account, or one of its guests, was kicked from the room.
local function was_kicked(room, account_id, is_guest)
  local kicked = kicked_accounts(room)
  if string.find(kicked, ' ' .. account_id .. ' ', 1, true) then return true end
  for guest in pairs(is_guest) do
    if string.find(kicked, ' ' .. guest .. ' ', 1, true) then return true end
  end
  return false
end

-- The most bytes of the field `kicked`. A room that keeps changing does not expire, and any number of accounts may be kicked from it. So
-- the room forgets the accounts that were kicked first.
local MOST_KICKED_BYTES = 16384

-- Frees the seat of a player, and bars the account in this seat from joining the room again. Returns the account's id.
local function kick_out(room, id)
  local account_id = redis.call('HGET', room.key, id .. ':account')
  local kicked = kicked_accounts(room) .. account_id .. ' '
  if #kicked > MOST_KICKED_BYTES then kicked = string.match(kicked, '^ %S+( .*)$') end
  keep(room, 'kicked', kicked)
  vacate(room, {[id] = true})
  return account_id
end

-- Seats an account in a room, and returns the id of the new player. The room must be in the lobby and have a free seat. `name`: the
-- player's name as JSON text; '' for "Player <number>".
local function take_seat(room, account_id, name, now_text)
  local given = string.format('%d', redis.call('HGET', room.key, 'given') + 1)
  local id = 'p' .. given
  room.players = room.players == '' and id or room.players .. ' ' .. id
  set(room, 'players', room.players)
  local shown = name ~= '' and name or '"Player ' .. given .. '"'
  set(room, id, string.format('<seat>', 'false', 'false', now_text, shown))
  keep(room, 'given', given)
  keep(room, id .. ':account', account_id)
  keep(room, id .. ':acted', now)
  if fills_up(room) then
    local is_anyone_away = false
    for _, away in ipairs(seat_fields(room.key, seated_ids(room.players), ':away')) do is_anyone_away = is_anyone_away or away end
    if not is_anyone_away then start_room(room) end
  end
  return id
end

-- Writes the changes that set(), keep() and drop() noted. A change of public fields raises seq and is published. The published message has
-- these lines: the seq, the time of the previous change, then names and values of fields. If a process has a copy that is older than the
-- previous change, it reads all fields. If private parts changed, the message only names the players whose parts changed (`private_of`),
-- and the processes of these players read the parts.
local function settle(room, ttl_ms)
  local public, kept, dropped = room.public, room.kept, room.dropped
  if #public > 0 then
    local before = room.updated_at
    room.seq = room.seq + 1
    room.updated_at = now
    set(room, 'seq', string.format('%d', room.seq))
    set(room, 'updatedAt', now)
    set(room, 'expiresAt', string.format('%d', tonumber(now) + tonumber(ttl_ms)))
    local private_of = room.private_of and '\nprivateOf\n' .. room.private_of or ''
    publish(room.key, string.format('%d\n', room.seq) .. before .. '\n' .. table.concat(public, '\n') .. private_of)
    redis.call('PEXPIRE', room.key, ttl_ms)
    for place = 1, #kept do public[#public + 1] = kept[place] end
    kept = public
  end
  if #kept > 0 then redis.call('HSET', room.key, unpack(kept)) end
  if #dropped > 0 then redis.call('HDEL', room.key, unpack(dropped)) end
end

-- The answer to an act: the word, the seq, the actor's player id, '1' if this player is the host, the actor's private part or '' and, if
-- `is_whole` is '1', the room's public fields. A server has no seat, so in a room with a host the answer to a server has the host's seat as
-- it is after the act.
local function reply(word, room, actor, is_whole)
  local id, private = actor, ''
  if actor == 'server' then id = room.host or actor
  elseif is_whole ~= '' then private = redis.call('HGET', room.key, actor .. ':private') or '' end
  local is_host = id == 'server' or id == room.host and is_seated(room, id)
  local words = {word, string.format('%d', room.seq), id, is_host and '1' or '0', private}
  if is_whole == '' then return words end
  public_fields(room.key, words, true)
  if room.presence_begins then words[#words + 1], words[#words + 2] = 'presenceBegins', 'true' end
  return words
end
