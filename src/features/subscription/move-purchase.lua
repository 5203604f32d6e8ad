-- Gives a purchase to another account. The last key is known again.
-- KEYS purchase
-- ARGV owner_seen, owner, is_owner (whether it is the account's already, 0|1), key, act
-- Prelude purchase-todo.lua: add_todo, save_state
-- Answers moved replayed owned changed retired
local known_owner, retired_by, last = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy', 'moved'))
if last == owner .. ' ' .. key and known_owner == owner then return {'replayed'} end
if is_owner == '1' then return {'owned'} end
if known_owner ~= owner_seen then return {'changed'} end
if retired_by then return {'retired'} end

-- Nothing below refuses.
redis.call('HSET', purchase, 'owner', owner, 'moved', owner .. ' ' .. key, 'act', act)
add_todo('line', 'drop:' .. known_owner)
return {'moved'}
