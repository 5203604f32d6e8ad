-- Reads what is left to do for an account that was deleted. A closed account has nothing left.
-- KEYS moves
-- ARGV -
-- Answers left(time, record before) closed none
local record = redis.call('GET', moves) or ''
local at, before = string.match(record, '^=(%d+)\n(.*)$')
if at then return {'left', at, before} end
return {string.sub(record, 1, 1) == '=' and 'closed' or 'none'}
