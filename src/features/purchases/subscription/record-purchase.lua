-- Records the app store's answer about a purchase, and makes the caller its owner.
-- KEYS purchase
-- ARGV owner_seen (or ''), account_id, store (or ''), token, package_name, state, expires_at, will_renew, product_id, checked_at, acknowledged, test, due_at (or ''), retires (hash or ''), bound (1 or 0), act
-- Prologue open-account.lua: open_account, answer
-- Prelude purchase-todo.lua: add_todo, save_state, save_owned, leave_unowned
-- Answers recorded changed
local owner, retired_by = unpack(redis.call('HMGET', purchase, 'owner', 'retiredBy'))
if (owner or '') ~= owner_seen or retired_by then return {'changed'} end
if not open_account(account, creation_barred) then return {'rate_limited'} end

-- No line after this one refuses the purchase.
save_owned(owner, account_id)
if not owner then leave_unowned() end
return answer('recorded')
