-- Ends one session, for every process at once: from now on every script that checks its caller refuses this session.
-- KEYS ended
-- ARGV life_seconds
-- Library session-list.lua: end_session
-- Answers signed_out
end_session(ended, life_seconds)
return {'signed_out'}
