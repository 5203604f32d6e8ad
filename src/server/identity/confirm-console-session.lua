-- Notes that an operator in a session of the console has typed the server key once more.
-- KEYS sessions
-- ARGV id, confirmed_until
-- Answers confirmed ended
local ends = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) ')
if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
redis.call('HSET', sessions, id, ends .. ' ' .. confirmed_until)
return {'confirmed'}
