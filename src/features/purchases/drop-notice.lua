-- Drops a kept notification, unless another one arrived after the request to the app store was sent.
-- KEYS notice
-- ARGV asked_at (or '': drop it in any case)
-- Answers dropped kept
local hinted_at = redis.call('HGET', notice, 'hintedAt')
if asked_at ~= '' and hinted_at and tonumber(hinted_at) >= tonumber(asked_at) then return {'kept'} end
redis.call('DEL', notice)
return {'dropped'}
