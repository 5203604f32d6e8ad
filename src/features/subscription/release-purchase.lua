-- Forgets a purchase whose owner was deleted, so that its token may be recorded for another account.
-- KEYS purchase
-- ARGV owner
-- Answers released kept
--
-- It stays if somebody else has become its owner, if other keys still have to follow it, or if another purchase replaced it: without
-- that mark the token of the replaced purchase would give access again.
local found = redis.call('HMGET', purchase, 'owner', 'todo', 'retiredBy')
if found[1] ~= owner or found[2] or found[3] then return {'kept'} end
redis.call('DEL', purchase)
return {'released'}
