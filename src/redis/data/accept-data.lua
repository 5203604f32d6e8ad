-- Gives data a new id, because an operator accepts it in place of lost data (data-id.ts). This also ends a refusal of the data.
-- KEYS id
-- ARGV seen (the id that the operator saw; '': none), to (the id from now on)
-- Library data-id.lua: text_of, parse_id, now_text
-- Answers accepted changed
-- A value that is not an id is treated as a missing id. Another client may have written a list under the key.
local found, heartbeat = parse_id(text_of(id))
if not found or #found ~= 22 or not string.find(found, '^[%w_-]+$') then found = '' end
if found ~= seen then return {'changed'} end
local at = now_text()
redis.call('SET', id, to .. ' ' .. (heartbeat or '000000000000000') .. ' ' .. at .. ' ' .. at)
return {'accepted'}
