-- Notes that the caller's session was used, and the session's end. A renewal of the token moves the end to a later time. Adds a session
-- that the list lacks.
-- KEYS sessions
-- ARGV id, kind, created_at, at, ends_at, user_agent, rest_ms, life_seconds
-- Prologue check-caller.lua: generation
-- Library session-list.lua: list_session
-- Answers noted
--
-- An entry stays as it is if its session was noted less than rest_ms ago and does not end later than the entry says.
local found = redis.call('HGET', sessions, id) or ''
local found_kind, sign_in, found_created_at, seen_at, found_ends_at, found_user_agent = string.match(found, '<session>')
if found_kind then
  local is_recent = tonumber(at) - tonumber(seen_at) < tonumber(rest_ms)
  if is_recent and tonumber(ends_at) <= tonumber(found_ends_at) then return {'noted'} end
  kind, created_at, user_agent = found_kind, found_created_at, found_user_agent
end
list_session(sessions, generation, id, kind, sign_in or '', created_at, at, ends_at, user_agent, life_seconds)
return {'noted'}
