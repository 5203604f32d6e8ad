-- Links a device's trial to the caller's account. If the account has a trial already, the earlier of the two starts stays, so that no link
-- extends a trial.
-- KEYS device
-- ARGV device_hash, known_start (or '')
-- Prologue open-account.lua: account, open_account, answer
-- Answers linked(started at) no_trial
--
-- If the device's key is in another slot, `known_start` is the start of the device's trial, which the service has read before. The start
-- does not change in between.
local device_started = known_start ~= '' and known_start or redis.call('HGET', device, 'trialStartedAt')
if not device_started then return {'no_trial'} end
local account_started = redis.call('HGET', account, 'trialStartedAt')
local device_is_earlier = not account_started or tonumber(device_started) < tonumber(account_started)
if not device_is_earlier then return {'linked', account_started} end
if not open_account(account, creation_barred) then return {'rate_limited'} end

-- The script does not change the start in the device's key, because otherwise any caller who knows a deviceId could end the device's trial.
redis.call('HSET', account, 'trialStartedAt', device_started, 'trialDevice', device_hash)
return answer('linked', device_started)
