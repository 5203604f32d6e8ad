-- Forgets a purchase whose owner was deleted, so that its token may be recorded for another account.
-- KEYS purchase
-- ARGV owner
-- Answers released kept
--
-- The record stays if another account has become the owner, or if `todo` has steps left. If another purchase replaced this one, a record
-- without owner and token stays, because without a record the token would give access again.
local found = redis.call('HMGET', purchase, 'owner', 'todo', 'retiredBy')
if found[1] ~= owner or found[2] then return {'kept'} end
redis.call('DEL', purchase)
if found[3] then redis.call('HSET', purchase, 'owner', '-', 'retiredBy', found[3]) end
return {'released'}
