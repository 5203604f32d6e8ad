-- The list of an account's sessions: a hash of session id → "<kind> <created at> <last seen at> <ends at> <user agent>", times in
-- milliseconds since 1970. An entry only describes its session. The generation and the mark of a session say whether it lives,
-- so nothing that ends a session has to write here. Gives end_session(), parse_session(), is_live_session(), list_session().

-- Enough for one person's browsers. One more ends the oldest of its kind, so that no listed session lives on unseen.
local MOST_SESSIONS = 50

-- "{<account>}:sessions" without "sessions", and "out:<session>" behind it.
local function mark_of_session(sessions, id) return string.sub(sessions, 1, -9) .. 'out:' .. id end

-- Ends a session for every process at once. The channel `moves` tells each to take the caller from the session's room connections.
local function end_session(mark, life_seconds)
  if redis.call('SET', mark, '', 'EX', life_seconds, 'NX') then announce('moves', string.match(mark, '^{(.-)}')) end
end

-- kind, created at, last seen at, ends at, user agent
local function parse_session(text) return string.match(text or '', '^(%l+) (%d+) (%d+) (%d+) (.*)$') end

local function is_live_session(sessions, id, text, generation)
  local _, _, _, ends_at = parse_session(text)
  return ends_at ~= nil and tonumber(ends_at) > tonumber(now) and (string.match(id, '^(%d+)%.') or '0') == generation
    and redis.call('EXISTS', mark_of_session(sessions, id)) == 0
end

-- Drops entries of sessions that have ended. If there are still too many, ends the oldest of this kind, else the oldest of all.
local function make_room(sessions, id, kind, generation, life_seconds)
  local entries, live = redis.call('HGETALL', sessions), 0
  local oldest, oldest_at, oldest_of_kind, oldest_of_kind_at
  for index = 1, #entries, 2 do
    local other, text = entries[index], entries[index + 1]
    if is_live_session(sessions, other, text, generation) then
      local other_kind, created_at = parse_session(text)
      created_at, live = tonumber(created_at), live + 1
      if other ~= id and (not oldest or created_at < oldest_at) then oldest, oldest_at = other, created_at end
      if other ~= id and other_kind == kind and (not oldest_of_kind or created_at < oldest_of_kind_at) then
        oldest_of_kind, oldest_of_kind_at = other, created_at
      end
    else
      redis.call('HDEL', sessions, other)
    end
  end
  if live <= MOST_SESSIONS then return end
  redis.call('HDEL', sessions, oldest_of_kind or oldest)
  end_session(mark_of_session(sessions, oldest_of_kind or oldest), life_seconds)
end

-- Lists a session of the account's present generation, or describes it anew. One that has ended is not listed.
local function list_session(sessions, generation, id, kind, created_at, seen_at, ends_at, user_agent, life_seconds)
  if redis.call('EXISTS', mark_of_session(sessions, id)) == 1 then return end
  redis.call('HSET', sessions, id, table.concat({kind, created_at, seen_at, ends_at, user_agent}, ' '))
  redis.call('EXPIRE', sessions, life_seconds)
  if redis.call('HLEN', sessions) > MOST_SESSIONS then make_room(sessions, id, kind, generation, life_seconds) end
end
