-- Deletes the record of a purchase that no account has yet, unless a notification of it arrived after the request to the app store was
-- sent.
-- KEYS purchase
-- ARGV asked_at (or '': forget it in any case)
-- Answers forgotten kept
local owner, hinted_at = unpack(redis.call('HMGET', purchase, 'owner', 'hintedAt'))
if owner or (asked_at ~= '' and hinted_at and tonumber(hinted_at) >= tonumber(asked_at)) then return {'kept'} end
redis.call('DEL', purchase)
return {'forgotten'}
