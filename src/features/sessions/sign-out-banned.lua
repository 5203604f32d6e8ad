-- Ends all sessions of a banned account. Only a session that has not ended itself does so.
-- KEYS standing, ended
-- ARGV -
-- Library standing.lua: standing_of, session_generation
-- Library standing-changes.lua: end_sessions
-- Answers signed_out
--
-- The ban may have ended a moment ago.
local state, _, generation, moved_in = standing_of(standing)
local may_end = (state == 'banned' or state == 'open') and redis.call('EXISTS', ended) == 0
if may_end and session_generation(ended, moved_in) == generation then end_sessions(standing) end
return {'signed_out'}
