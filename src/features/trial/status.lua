-- Reads the start of a device's trial, or of the trial that is linked to an account.
-- KEYS holder
-- ARGV -
-- Prologue prologue-check.lua
-- Answers started(at) none
local started_at = redis.call('HGET', holder, 'trialStartedAt')
if not started_at then return {'none'} end
return {'started', started_at}
