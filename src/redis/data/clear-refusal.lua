-- Removes the refusal from the value of a data id that a service refused because of the secret, once the secret is right again
-- (data-refusal.ts).
-- KEYS id (of a slot; on one Redis, the id), judged (the id by which the data was judged), secret
-- ARGV right_secret
-- Library data-id.lua: text_of, parse_id
-- Answers cleared changed
local function is_of_secret(refusal) return string.find(refusal or '', '^%d+ secret ') end
local _found, _heartbeat, _beaten_at, _accepted_at, judged_note = parse_id(text_of(judged))
if not is_of_secret(judged_note) or text_of(secret) ~= right_secret then return {'changed'} end
local found, heartbeat, beaten_at, accepted_at, refusal = parse_id(text_of(id))
if not is_of_secret(refusal) then return {'changed'} end
redis.call('SET', id, found .. ' ' .. heartbeat .. ' ' .. beaten_at .. ' ' .. accepted_at)
return {'cleared'}
