-- Sets the position in the log at which deliveries to a hook go on. The process that delivers begins there within two seconds.
-- KEYS hooks, state
-- ARGV id, cursor
-- Answers set none
if redis.call('HEXISTS', hooks, id) == 0 then return {'none'} end
redis.call('HSET', state, 'cursor', cursor)
redis.call('HINCRBY', state, 'turn', 1)
return {'set'}
