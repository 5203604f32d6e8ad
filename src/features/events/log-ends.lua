-- Reads the positions of the log's beginning and end, or the position of a time.
-- KEYS state, chunks
-- ARGV time (microseconds since 1970, or '': the oldest event)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers ends(the position of the oldest event, or of the last chunk whose first event happened before the time; readable; the position after the last event; the oldest event; 1 if a process relays, or did so within RELAY_PAUSE_MS)
local RELAY_PAUSE_MS = 60000 -- a service that restarts has no relay for a moment
local readable, next, lease_end = unpack(redis.call('HMGET', state, 'readable', 'next', 'leaseEnd'))
local is_relayed = lease_end and lease_end + RELAY_PAUSE_MS > tonumber(now) and '1' or ''
local first, last = 0, redis.call('ZCARD', chunks) - 1
local function chunk_at(rank) return tonumber(redis.call('ZRANGE', chunks, rank, rank)[1]) end
local function oldest_of(rank) return redis.call('LINDEX', chunk_key(state, chunk_at(rank)), 0) or '' end
local function time_of(entry) return tonumber(string.match(entry, '^%S+ (%w+)') or '0', 36) end
if last < 0 then return {'ends', readable or '0', readable or '0', next or '', '', is_relayed} end
if time ~= '' then
  while first < last do
    local middle = math.ceil((first + last) / 2)
    if time_of(oldest_of(middle)) < tonumber(time) then first = middle else last = middle - 1 end
  end
end
return {'ends', position_text(chunk_at(first) * CHUNK_LENGTH), readable or '0', next or '', oldest_of(0), is_relayed}
