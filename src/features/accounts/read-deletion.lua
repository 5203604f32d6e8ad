-- Reads what is left to do for an account that was deleted. A closed account has nothing left.
-- KEYS account, moves
-- ARGV -
-- Answers left(time, record before, purchase lines) closed none
local record = redis.call('GET', moves) or ''
local at, before = string.match(record, '^=(%d+)\n(.*)$')
if at then return {'left', at, before, redis.call('HGET', account, 'purchases') or ''} end
return {string.sub(record, 1, 1) == '=' and 'closed' or 'none'}
