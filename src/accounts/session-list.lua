-- The list of an account's sessions: a hash of session id → entry (`sessionEntry` of session-list.ts). An entry only describes its session:
-- the session's generation and sign-out mark decide whether the session has ended, so ending a session does not change the list. If the
-- list grows beyond MOST_SESSIONS, make_room ends a session, so that each session that has not ended stays listed.
-- Gives end_session(), end_sessions_of(), is_live_session(), list_session() and mark_of_session().

-- Returns the Redis key of a session's sign-out mark: "{<account>}:sessions" with "out:<session>" in place of "sessions".
local function mark_of_session(sessions, id) return string.sub(sessions, 1, -9) .. 'out:' .. id end

-- Ends a session in every process at once. Each process hears of the account on the channel `standings`, and drops the caller from room
-- connections.
local function end_session(mark, life_seconds)
  if redis.call('SET', mark, '', 'EX', life_seconds, 'NX') then announce('standings', string.match(mark, '^{(.-)}')) end
end

local function is_live_session(sessions, id, text, generation)
  local ends_at = string.match(text or '', '<session: ends_at>')
  return ends_at ~= nil and tonumber(ends_at) > tonumber(now) and (string.match(id, '^(%d+)%.') or '0') == generation
    and redis.call('EXISTS', mark_of_session(sessions, id)) == 0
end

-- Ends the sessions that began with a sign-in, and the sessions of pairings that such a session claimed. Also ends the sessions that name
-- no sign-in, because they may have begun with this one. Returns whether `own`, a session's id, was among them.
local function end_sessions_of(sessions, sign_in, generation, own, life_seconds)
  local entries, is_own = redis.call('HGETALL', sessions), false
  for index = 1, #entries, 2 do
    local session, text = entries[index], entries[index + 1]
    if is_live_session(sessions, session, text, generation) then
      local began_with = string.match(text, '<session: sign_in>') or ''
      if began_with == '' or began_with == sign_in then
        redis.call('HDEL', sessions, session)
        end_session(mark_of_session(sessions, session), life_seconds)
        if session == own then is_own = true end
      end
    end
  end
  return is_own
end

-- Drops the entries of ended sessions. If the list is still too long, ends the oldest `passed` session, else the oldest session of this
-- kind, else the oldest session of all. So a thief who uses the session of one pairing to claim further pairings ends the thief's own
-- sessions first.
local function make_room(sessions, id, kind, generation, life_seconds)
  local entries, live, oldest, oldest_at = redis.call('HGETALL', sessions), 0, {}, {}
  local function meet(group, other, created_at)
    if not oldest[group] or created_at < oldest_at[group] then oldest[group], oldest_at[group] = other, created_at end
  end
  for index = 1, #entries, 2 do
    local other, text = entries[index], entries[index + 1]
    if is_live_session(sessions, other, text, generation) then
      local other_kind, created_at = string.match(text, '<session: kind, created_at>')
      live = live + 1
      if other ~= id then
        meet(other_kind, other, tonumber(created_at))
        meet('any', other, tonumber(created_at))
      end
    else
      redis.call('HDEL', sessions, other)
    end
  end
  if live <= MOST_SESSIONS then return end
  local ended = oldest.passed or oldest[kind == 'passed' and 'pairing' or kind] or oldest.any
  redis.call('HDEL', sessions, ended)
  end_session(mark_of_session(sessions, ended), life_seconds)
end

-- Adds a session of the account's current generation to the list, or updates its entry. A session that has ended is not added.
local function list_session(sessions, generation, id, kind, sign_in, created_at, seen_at, ends_at, user_agent, life_seconds)
  if redis.call('EXISTS', mark_of_session(sessions, id)) == 1 then return end
  local entry = string.format('<session: kind, created_at, last_seen_at, ends_at, user_agent>', kind, created_at, seen_at, ends_at, user_agent)
  if sign_in ~= '' then entry = string.format('<session>', kind, sign_in, created_at, seen_at, ends_at, user_agent) end
  redis.call('HSET', sessions, id, entry)
  redis.call('EXPIRE', sessions, life_seconds)
  if redis.call('HLEN', sessions) > MOST_SESSIONS then make_room(sessions, id, kind, generation, life_seconds) end
end
