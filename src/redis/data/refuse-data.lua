-- Notes in the data that this service refuses it, so that no other service serves it either (data-refusal.ts).
-- KEYS id (of a slot; on one Redis, the id), judged (the id by which the data was judged), secret
-- ARGV known (the id of the data), least (a higher heartbeat is that of other data), seen_secret, refusal (what the refusal note says after its time)
-- Library data-id.lua: text_of, parse_id, now_text
-- Answers refused changed
-- If an operator has accepted the data since the service judged it, or newer data has replaced it, the script leaves the data alone.
local found, heartbeat, _beaten_at, _accepted_at, noted = parse_id(text_of(judged))
if found ~= known or noted ~= '' or heartbeat >= least or text_of(secret) ~= seen_secret then return {'changed'} end
local text = text_of(id)
local own, _own_heartbeat, _own_beaten_at, _own_accepted_at, own_note = parse_id(text)
if own ~= known or own_note ~= '' then return {'changed'} end
local at = now_text()
redis.call('SET', id, 'refused: ' .. text .. ' ' .. at .. ' ' .. refusal)
return {'refused'}
