-- Records that another purchase replaced a purchase. The replaced purchase then gives no access to an account that sends its token, even if
-- no account has recorded it before.
-- KEYS purchase
-- ARGV by, new_owner, act
-- Prelude purchase-todo.lua: add_todo, leave_unowned
-- Answers retired
local owner, retired_by = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy'))
if retired_by == by and owner == new_owner then return {'retired'} end
redis.call('HSET', purchase, 'owner', new_owner, 'retiredBy', by, 'dueAt', '', 'act', act)
add_todo('line')
if not owner then leave_unowned() elseif owner ~= '-' then add_todo('drop:' .. owner) end
return {'retired'}
