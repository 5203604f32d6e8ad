-- Gives data a new id, because an operator accepts it in place of lost data (data-id.ts).
-- KEYS id
-- ARGV seen (the id that the operator saw; '': none), to (the id from now on)
-- Answers accepted changed
-- A value that is not an id counts as a missing id. Another client may have written a list.
local value = redis.pcall('GET', id)
local text = type(value) == 'string' and value or ''
local found = string.match(text, '^([%w_-]+) %d+ %d+ %d+$')
if not found or #found ~= 22 then found = '' end
if found ~= seen then return {'changed'} end
local time = redis.call('TIME')
local at = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('SET', id, to .. ' ' .. (string.match(text, '^%S+ (%d+) ') or '000000000000000') .. ' ' .. at .. ' ' .. at)
return {'accepted'}
