-- Sets the position at which a hook goes on. The process that delivers begins there within two seconds.
-- KEYS hooks, state
-- ARGV id, cursor
-- Answers set none
if redis.call('HEXISTS', hooks, id) == 0 then return {'none'} end
redis.call('HSET', state, 'cursor', cursor)
redis.call('HINCRBY', state, 'turn', 1)
return {'set'}
