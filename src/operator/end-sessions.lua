-- Ends all sessions of an account, even if it is banned.
-- KEYS standing
-- ARGV -
-- Library standing.lua: standing_of
-- Library standing-changes.lua: end_sessions
-- Answers ended(generation of new sessions) moving moved(account that it moved into) deleted(time)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {'ended', end_sessions(standing)}
