-- Adds or changes a hook. Events are delivered to a new hook from a position of the log on.
-- KEYS hooks, state
-- ARGV id, before, after, most, cursor (or '': the end of the log when a process first leases the hook)
-- Answers changed conflict full
--
-- `before` is the record as the service has read it, or '' for a new hook. `conflict`: the record was changed meanwhile. `full`: there
-- would be more than `most` hooks.
if (redis.call('HGET', hooks, id) or '') ~= before then return {'conflict'} end
if before == '' and redis.call('HLEN', hooks) >= tonumber(most) then return {'full'} end
redis.call('HSET', hooks, id, after)
if before == '' then redis.call('HSET', state, 'cursor', cursor, 'turn', 0) end
return {'changed'}
