-- Keeps a nonce for the caller's session.
-- KEYS nonce
-- ARGV session_id, kept_seconds
-- Prologue check-caller.lua
-- Answers kept
redis.call('SET', nonce, session_id, 'EX', kept_seconds)
return {'kept'}
