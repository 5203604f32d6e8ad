-- Ends a session of the console. Does nothing if the session has ended already.
-- KEYS sessions
-- ARGV id
-- Answers ended
redis.call('HDEL', sessions, id)
return {'ended'}
