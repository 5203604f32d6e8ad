-- Ends a session of the caller's account, for every process at once, and its room connections too.
-- KEYS sessions, ended
-- ARGV id, is_own (0|1), life_seconds
-- Prologue prologue-check.lua: generation
-- Library session-list.lua: end_session, is_live_session
-- Answers ended session_not_found
--
-- Ends a listed session or the caller's own. A session that has ended already is `ended` again, so that a call can be repeated after a lost
-- answer.
if is_own ~= '1' and redis.call('EXISTS', ended) == 0 then
  if not is_live_session(sessions, id, redis.call('HGET', sessions, id), generation) then return {'session_not_found'} end
end
redis.call('HDEL', sessions, id)
end_session(ended, life_seconds)
return {'ended'}
