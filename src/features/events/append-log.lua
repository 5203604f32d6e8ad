-- Appends the events of an outbox to the log, unless another relay has appended them.
-- KEYS state, chunks, forgotten
-- ARGV source (tag of the outbox), seen (the last element from that outbox that the relay knows to be in the log), last (the last element of this call), known_next (the position after the last event that the relay knows), entries (a line each), shows ('1': readers see them at once, because no replica has to confirm them)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers appended(position after them) changed(the last element in the log from that outbox)
--
-- When a relay's lease runs out, two relays may run for a moment. The slower relay finds that the log has a later element of the outbox
-- than `seen`, and appends nothing.
--
-- Positions must only rise, so that every event that is appended later comes after the cursors of all readers. So after a restore, or after
-- an operator accepted other data, the log jumps ahead by GAP positions. After a failover that lost events known to the relay, it jumps
-- ahead to the next chunk.
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
  -- If a failover lost the end of a chunk, the chunk is not filled up, because a position of a lost event must not name another event.
  lines[#lines + 1] = line
  next = next + 1
  -- After the event that an account was deleted, readers get the account's earlier events without data, and a sweep removes the data from
  -- the log (forget-events.lua).
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
