-- Starts a device's trial if it never had one.
-- KEYS device
-- ARGV now
-- Answers started(at)
redis.call('HSETNX', device, 'trialStartedAt', now)
return {'started', redis.call('HGET', device, 'trialStartedAt')}
