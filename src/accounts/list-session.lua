-- Adds a new session to the account's list before the user gets its token, unless the account is closed or the session has already ended.
-- KEYS standing, sessions
-- ARGV id, kind, sign_in (or ''), provider (of a sign-in that is used now, or ''), created_at, ends_at, user_agent, life_seconds
-- Library standing.lua: standing_of
-- Library sign-ins.lua: has_sign_in, use_sign_in
-- Library session-list.lua: list_session
-- Answers open closed moving
--
-- This script does not check for a ban: the sign-in that starts the session has checked the ban.
local state, _, generation = standing_of(standing)
if state == 'moving' then return {'moving'} end
if state == 'moved' or state == 'deleted' then return {'closed'} end
local tag = string.match(standing, '^{.-}')
-- The sign-in may have been removed after the service found the account by this sign-in, or after a session of the sign-in claimed a
-- pairing.
if provider ~= '' then
  if not use_sign_in(tag, sign_in, provider) then return {'closed'} end
elseif sign_in ~= '' and not has_sign_in(tag, sign_in) then return {'closed'} end
if (string.match(id, '^(%d+)%.') or '0') == generation then
  list_session(sessions, generation, id, kind, sign_in, created_at, created_at, ends_at, user_agent, life_seconds)
end
return {'open'}
