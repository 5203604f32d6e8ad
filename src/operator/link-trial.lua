-- Copies the start of a device's trial to an account, after an operator has changed it.
-- KEYS account, standing
-- ARGV device_hash, started_at
-- Library standing.lua: standing_of
-- Answers linked other_device moving moved(account that it moved into) deleted(time) not_found
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
if redis.call('EXISTS', account) == 0 then return {'not_found'} end
local held = redis.call('HGET', account, 'trialDevice') or ''
if held ~= '' and held ~= device_hash then return {'other_device'} end
redis.call('HSET', account, 'trialStartedAt', started_at, 'trialDevice', device_hash)
return {'linked'}
