-- Records that an operator wants an event delivered to a hook once more.
-- KEYS hooks, asked
-- ARGV id, asking, most
-- Answers asked none full
if redis.call('HEXISTS', hooks, id) == 0 then return {'none'} end
if redis.call('LLEN', asked) >= tonumber(most) then return {'full'} end
redis.call('RPUSH', asked, asking)
return {'asked'}
