-- Removes a hook with all its keys.
-- KEYS hooks, state, waiting, delivered, failed, asked
-- ARGV id
-- Answers removed none
if redis.call('HDEL', hooks, id) == 0 then return {'none'} end
redis.call('UNLINK', state, waiting, delivered, failed, asked)
return {'removed'}
