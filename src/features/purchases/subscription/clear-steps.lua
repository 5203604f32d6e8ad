-- Removes the steps of a change from `todo` after they were done, unless the purchase has changed again.
-- KEYS purchase
-- ARGV revision
-- Answers finished changed
if redis.call('HGET', purchase, 'revision') ~= revision then return {'changed'} end
redis.call('HDEL', purchase, 'todo')
return {'finished'}
