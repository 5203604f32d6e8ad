-- Ends a listed session of the caller's account, or the caller's own session, for every process at once.
-- KEYS sessions, ended
-- ARGV id, is_own (0|1), life_seconds
-- Prologue check-caller.lua: generation
-- Library session-list.lua: end_session, is_live_session
-- Answers ended session_not_found
--
-- Connections in rooms that act with the session lose their player too. If the session has ended already, the answer is `ended` again, so
-- that a client can repeat the call after a lost answer.
if is_own ~= '1' and redis.call('EXISTS', ended) == 0 then
  if not is_live_session(sessions, id, redis.call('HGET', sessions, id), generation) then return {'session_not_found'} end
end
redis.call('HDEL', sessions, id)
end_session(ended, life_seconds)
return {'ended'}
