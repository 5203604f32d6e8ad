-- Signs a session out, in every process at once: from now on each script refuses it.
-- KEYS ended
-- ARGV life_seconds
-- Answers signed_out
redis.call('SET', ended, '', 'EX', life_seconds)
return {'signed_out'}
