-- Clears the steps that had to follow a change of a purchase, unless the purchase has changed again.
-- KEYS purchase
-- ARGV revision
-- Answers finished changed
if redis.call('HGET', purchase, 'revision') ~= revision then return {'changed'} end
redis.call('HDEL', purchase, 'todo')
return {'finished'}
