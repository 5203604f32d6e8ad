-- Ends all sessions of the caller's account, for every process at once.
-- KEYS account
-- ARGV -
-- Prologue prologue-check.lua: standing
-- Library standing-changes.lua: end_sessions
-- Answers signed_out none
--
-- An account that does not exist has no sessions, and a sign-out must not create a record of the account.
if redis.call('EXISTS', account) == 0 then return {'none'} end
end_sessions(standing)
return {'signed_out'}
