-- Makes or changes a hook. A new one begins at a position of the log of events.
-- KEYS hooks, state
-- ARGV id, before, after, most, cursor (or '': where the log ends when a process first looks)
-- Answers changed conflict full
--
-- `before` is the record as it was read, or ''. With `conflict` it was changed meanwhile, with `full` there would be more than `most` hooks.
if (redis.call('HGET', hooks, id) or '') ~= before then return {'conflict'} end
if before == '' and redis.call('HLEN', hooks) >= tonumber(most) then return {'full'} end
redis.call('HSET', hooks, id, after)
if before == '' then redis.call('HSET', state, 'cursor', cursor, 'turn', 0) end
return {'changed'}
