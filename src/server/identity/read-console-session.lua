-- Tells whether a session of the console is open, and until when its operator may make changes that cannot be undone.
-- KEYS sessions
-- ARGV id
-- Answers open(confirmed_until) ended
local ends, confirmed = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) (%d+)$')
if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
return {'open', confirmed}
