-- Keeps a notification of an app store whose purchase cannot be recorded yet. If an earlier notification of the purchase is kept already,
-- only its app and its time of the latest notification change.
-- KEYS purchase
-- ARGV store, id, package_name, unknowns, due_at, act
-- Answers kept(due at)
local known = redis.call('HGET', purchase, 'dueAt')
if not known then
  redis.call('HSET', purchase, 'store', store, 'id', id, 'noticedAt', now, 'unknowns', unknowns, 'faults', 1, 'dueAt', due_at)
end
redis.call('HSET', purchase, 'packageName', package_name, 'hintedAt', now, 'act', act)
return {'kept', known or due_at}
