-- Forgets a purchase whose owner was deleted, so that its token may be recorded for another account.
-- KEYS purchase
-- ARGV owner
-- Answers released kept
--
-- The purchase stays if another account has become its owner, or if other keys still have to follow it. If another purchase replaced it, a
-- mark without owner and token stays: without the mark the token would give access again.
local found = redis.call('HMGET', purchase, 'owner', 'todo', 'retiredBy')
if found[1] ~= owner or found[2] then return {'kept'} end
redis.call('DEL', purchase)
if found[3] then redis.call('HSET', purchase, 'owner', '-', 'retiredBy', found[3]) end
return {'released'}
