-- Appends the events of an outbox to the log.
-- KEYS state, chunks, forgotten
-- ARGV source (tag of the outbox), seen (the last element that came from there, as the relay knows it), last (the one after this call), known_next (the position after the last event that the relay saw), entries (a line each), shows ('1': readers see them at once, because no replica has to have them before)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers appended(position after them) changed(the last element that came from there)
--
-- Two relays may run for a moment, when a lease runs out. The one that comes second finds another last element and appends nothing.
--
-- Positions only rise. The log jumps ahead by GAP where its data was restored or accepted in place of other data, and to the next chunk
-- where a failover has lost events that the relay saw: cursors that readers hold then stay behind all that is appended from now on.
local GAP = 1000000000
local before, next_text, data = unpack(redis.call('HMGET', state, 'from:' .. source, 'next', 'data'))
if (before or '') ~= seen then return {'changed', before or ''} end

local next = tonumber(next_text or '0')
local data_now = string.sub(redis.call('GET', place .. 'data:id') or '', 1, 22)
local function next_chunk(position) return math.ceil(position / CHUNK_LENGTH) * CHUNK_LENGTH end
if data and data ~= data_now then next = next_chunk(next + GAP)
elseif tonumber(known_next) > next then next = next_chunk(tonumber(known_next)) end

local lines = {}
local function write()
  local chunk = math.floor((next - 1) / CHUNK_LENGTH)
  redis.call('RPUSH', chunk_key(state, chunk), unpack(lines))
  redis.call('ZADD', chunks, position_text(chunk), position_text(chunk))
  lines = {}
end
for line in string.gmatch(entries, '[^\n]+') do
  -- A chunk that lost its end at a failover is not filled up: its positions would be of other events.
  lines[#lines + 1] = line
  next = next + 1
  -- An account was deleted: readers get no data of its events before this one, and a sweep removes it from the log.
  local account = string.match(line, '^d %S+ (%S+)')
  if account then redis.call('ZADD', forgotten, position_text(next), account) end
  if next % CHUNK_LENGTH == 0 then write() end
end
if #lines > 0 then write() end
redis.call('HSET', state, 'from:' .. source, last, 'next', position_text(next), 'data', data_now)
if shows == '1' then
  redis.call('HSET', state, 'readable', position_text(next))
  announce('events', position_text(next))
end
return {'appended', position_text(next)}
