-- Signs a session out, for every process at once: from now on each script that checks its caller refuses the session.
-- KEYS ended
-- ARGV life_seconds
-- Answers signed_out
redis.call('SET', ended, '', 'EX', life_seconds)
return {'signed_out'}
