-- Clears the work that had to follow a purchase, unless the purchase has changed since.
-- KEYS purchase
-- ARGV revision
-- Answers finished changed
if redis.call('HGET', purchase, 'revision') ~= revision then return {'changed'} end
redis.call('HDEL', purchase, 'todo')
return {'finished'}
