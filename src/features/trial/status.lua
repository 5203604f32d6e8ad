-- Reads the start of a trial, of a device or of an account.
-- KEYS holder
-- ARGV -
-- Prologue prologue-check.lua
-- Answers started(at) none
local started_at = redis.call('HGET', holder, 'trialStartedAt')
if not started_at then return {'none'} end
return {'started', started_at}
