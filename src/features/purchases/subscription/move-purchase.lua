-- Gives a purchase to another account. If the account and the idempotency key are the same as in the last move, nothing changes.
-- KEYS purchase
-- ARGV owner_seen, owner, is_owner (whether it is the account's already, 0|1), key, act
-- Prelude purchase-todo.lua: add_todo, leave_unowned
-- Answers moved replayed owned changed retired
local known_owner, retired_by, last = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy', 'moved'))
if last == owner .. ' ' .. key and known_owner == owner then return {'replayed'} end
if is_owner == '1' then return {'owned'} end
if (known_owner or '') ~= owner_seen then return {'changed'} end
if retired_by then return {'retired'} end

-- No line after this one refuses the move.
redis.call('HSET', purchase, 'owner', owner, 'moved', owner .. ' ' .. key, 'act', act)
add_todo('line')
-- A purchase without an owner is not acknowledged yet. A check that is due now acknowledges it.
if known_owner then add_todo('drop:' .. known_owner)
else
  redis.call('HSET', purchase, 'dueAt', now)
  leave_unowned()
end
return {'moved'}
