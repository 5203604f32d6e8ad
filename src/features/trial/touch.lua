-- Starts a device's trial, if the device has never had a trial.
-- KEYS device
-- ARGV now
-- Answers started(at)
redis.call('HSETNX', device, 'trialStartedAt', now)
return {'started', redis.call('HGET', device, 'trialStartedAt')}
