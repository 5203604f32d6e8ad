-- Ends all sessions of the caller's account, for every process at once.
-- KEYS -
-- ARGV -
-- Prologue prologue-check.lua: standing
-- Library standing-changes.lua: end_sessions
-- Answers signed_out
end_sessions(standing)
return {'signed_out'}
