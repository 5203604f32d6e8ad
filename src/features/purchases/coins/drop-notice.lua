-- Drops a kept notification, unless another notification of the purchase arrived after the app store was asked.
-- KEYS notice
-- ARGV asked_at (or '': drop it in any case)
-- Answers dropped kept
local hinted_at = redis.call('HGET', notice, 'hintedAt')
if asked_at ~= '' and hinted_at and tonumber(hinted_at) >= tonumber(asked_at) then return {'kept'} end
redis.call('DEL', notice)
return {'dropped'}
