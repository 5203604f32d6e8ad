-- Adds a new session to the account's list before the user gets its token, unless the account is closed or the session has already ended.
-- KEYS standing, sessions
-- ARGV id, kind, created_at, ends_at, user_agent, life_seconds
-- Library standing.lua: standing_of
-- Library session-list.lua: list_session
-- Answers open closed moving
--
-- This script does not check for a ban: the sign-in that starts the session has checked the ban.
local state, _, generation = standing_of(standing)
if state == 'moving' then return {'moving'} end
if state == 'moved' or state == 'deleted' then return {'closed'} end
if (string.match(id, '^(%d+)%.') or '0') == generation then
  list_session(sessions, generation, id, kind, created_at, created_at, ends_at, user_agent, life_seconds)
end
return {'open'}
