-- Records whether the app store accepted the report of a grant. If the store accepted it and the owner was deleted, the script removes the
-- store's id of the purchase from the record.
-- KEYS purchase
-- ARGV finished (1 or 0)
-- Answers done(faults in a row)
if finished == '0' then return {'done', tostring(redis.call('HINCRBY', purchase, 'faults', 1))} end
redis.call('HSET', purchase, 'finished', 1)
redis.call('HDEL', purchase, 'faults')
if redis.call('HGET', purchase, 'owner') == '-' then redis.call('HDEL', purchase, 'id') end
return {'done', '0'}
