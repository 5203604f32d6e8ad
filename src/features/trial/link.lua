-- Links a device to the caller's account. Both keep the earlier of their starts, so that linking extends no trial.
-- KEYS device
-- ARGV device_hash
-- Answers linked(started at) no_trial
local device_started = redis.call('HGET', device, 'trialStartedAt')
if not device_started then return {'no_trial'} end
local account_started = redis.call('HGET', account, 'trialStartedAt')
local device_is_earlier = not account_started or tonumber(device_started) < tonumber(account_started)
local account_is_earlier = account_started and tonumber(account_started) < tonumber(device_started)
if device_is_earlier and not open_account() then return {'rate_limited'} end

if device_is_earlier then
  -- The account remembers the device that its trial comes from: linking a later one again and again changes nothing.
  redis.call('HSET', account, 'trialStartedAt', device_started, 'trialDevice', device_hash)
elseif account_is_earlier then
  redis.call('HSET', device, 'trialStartedAt', account_started)
end
return answer('linked', device_is_earlier and device_started or account_started)
