-- Records the app store's answer about a purchase without an owner, and makes an account its owner.
-- KEYS purchase
-- ARGV account_id, store (or ''), token, package_name, state, expires_at, will_renew, product_id, checked_at, acknowledged, test, due_at (or ''), retires (hash or ''), bound (1 or 0), act
-- Prelude purchase-todo.lua: add_todo, save_state, save_owned
-- Answers recorded changed
if redis.call('HEXISTS', purchase, 'owner') == 1 or redis.call('EXISTS', purchase) == 0 then return {'changed'} end
save_owned(nil, account_id)
return {'recorded'}
