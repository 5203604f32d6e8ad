-- Ends all sessions of a banned account, for a request with an installId or with a session that has not ended.
-- KEYS standing, ended
-- ARGV is_session (0|1)
-- Library standing.lua: standing_of, session_generation
-- Library standing-changes.lua: end_sessions
-- Answers signed_out
--
-- If `is_session` is 0, the request has an installId, and the script does not read the key `ended`. The account may be open now, because
-- its ban may have ended a moment ago.
local state, _, generation, moved_in = standing_of(standing)
local may_end = state == 'banned' or state == 'open'
if is_session == '1' then
  may_end = may_end and redis.call('EXISTS', ended) == 0 and session_generation(ended, moved_in) == generation
end
if may_end then end_sessions(standing) end
return {'signed_out'}
