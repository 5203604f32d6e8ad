-- Restarts a device's trial, or undoes the last restart.
-- KEYS device
-- ARGV started_at ('': back to the start before the last restart)
-- Answers changed(start now, start before) none
--
-- `earlierStarts` lists the starts before each restart, the latest first. Accounts that linked the device earlier keep their start, which
-- the audit finds in this list.
local before = redis.call('HGET', device, 'trialStartedAt')
local earlier = redis.call('HGET', device, 'earlierStarts') or ''
if not before then return {'none'} end
if started_at == '' then
  local last, rest = string.match(earlier, '^(%d+) ?(.*)$')
  if not last then return {'none'} end
  redis.call('HSET', device, 'trialStartedAt', last, 'earlierStarts', rest)
  return {'changed', last, before}
end
local MOST_BYTES = 400 -- some 28 starts
local starts = earlier == '' and before or before .. ' ' .. earlier
if #starts > MOST_BYTES then starts = string.match(starts, '^(.*) %d+$') end
redis.call('HSET', device, 'trialStartedAt', started_at, 'earlierStarts', starts)
return {'changed', started_at, before}
