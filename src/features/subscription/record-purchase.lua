-- Records the app store's answer about a purchase, and makes the caller its owner.
-- KEYS purchase
-- ARGV owner_seen (or ''), account_id, token, package_name, state, expires_at, will_renew, product_id, checked_at, acknowledged, due_at (or ''), retires (hash or ''), act
-- Prologue prologue-open.lua: open_account, answer
-- Prelude purchase-todo.lua: add_todo, save_state
-- Answers recorded changed
local owner, known_at, retired_by = unpack(redis.call('HMGET', purchase, 'owner', 'checkedAt', 'retiredBy'))
if (owner or '') ~= owner_seen or retired_by then return {'changed'} end
if not open_account(account, creation_barred) then return {'rate_limited'} end

-- Nothing below refuses. A queued check may have recorded a later answer of the app store before this script ran.
if not known_at or tonumber(known_at) <= tonumber(checked_at) then
  redis.call('HSET', purchase, 'token', token, 'packageName', package_name, 'faults', 0)
  save_state(due_at)
end
redis.call('HSET', purchase, 'owner', account_id, 'act', act)
add_todo('line')
if owner and owner ~= account_id then add_todo('drop:' .. owner) end
if retires ~= '' then add_todo('retire:' .. retires) end
return answer('recorded')
