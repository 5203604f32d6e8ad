-- Records what the sandbox has issued for a purchase token, unless the record has changed since it was read.
-- KEYS record
-- ARGV issued, seen (JSON as it was read, '': a new record, '*': a change of any), kept_seconds
-- Answers kept changed
if seen ~= '*' and (redis.call('HGET', record, 'issued') or '') ~= seen then return {'changed'} end
redis.call('HSET', record, 'issued', issued)
redis.call('EXPIRE', record, kept_seconds)
return {'kept'}
