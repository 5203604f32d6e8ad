-- Gives data a new id, because an operator accepts it in place of lost data (data-id.ts).
-- KEYS id
-- ARGV seen (the id that the operator saw; '': none), to (the id from now on)
-- Answers accepted changed
local text = redis.call('GET', id) or ''
-- A text that is not an id counts as a missing id.
local found = string.match(text, '^([%w_-]+) %d+ %d+ %d+$')
if not found or #found ~= 22 then found = '' end
if found ~= seen then return {'changed'} end
local time = redis.call('TIME')
local at = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('SET', id, to .. ' ' .. (string.match(text, '^%S+ (%d+) ') or '000000000000000') .. ' ' .. at .. ' ' .. at)
return {'accepted'}
