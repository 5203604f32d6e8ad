-- Ends a session of the console, also one that has ended.
-- KEYS sessions
-- ARGV id
-- Answers ended
redis.call('HDEL', sessions, id)
return {'ended'}
