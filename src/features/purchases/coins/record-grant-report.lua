-- Records whether the app store accepted the report of a grant. If it did, and the owner was deleted, the record drops the store's id of
-- the purchase.
-- KEYS purchase
-- ARGV finished (1 or 0)
-- Answers done(faults in a row)
if finished == '0' then return {'done', tostring(redis.call('HINCRBY', purchase, 'faults', 1))} end
redis.call('HSET', purchase, 'finished', 1)
redis.call('HDEL', purchase, 'faults')
if redis.call('HGET', purchase, 'owner') == '-' then redis.call('HDEL', purchase, 'id') end
return {'done', '0'}
