-- Reads when server keys were last used: ids and times in turn.
-- KEYS used
-- ARGV -
-- Answers uses(id, milliseconds since 1970 …)
return {'uses', unpack(redis.call('HGETALL', used))}
