-- Lists a session that is about to be handed over, unless its account is closed or the session has ended already.
-- KEYS moves, sessions
-- ARGV id, kind, created_at, ends_at, user_agent, life_seconds
-- Library session-list.lua: list_session
-- Answers open closed moving
--
-- The record is that of prologue-check.lua. The sign-in that hands the session over has looked at the ban of the account.
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '~' then return {'moving'} end
if first == '>' or first == '=' then return {'closed'} end
record = string.gsub(record, '^![^\n]*\n', '')
local generation = string.match(record, '^#(%d+)\n') or '0'
if (string.match(id, '^(%d+)%.') or '0') == generation then
  list_session(sessions, generation, id, kind, created_at, created_at, ends_at, user_agent, life_seconds)
end
return {'open'}
