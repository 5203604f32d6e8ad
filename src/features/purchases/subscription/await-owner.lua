-- Records the app store's answer about a purchase without an owner, and the time of the purchase's next check.
-- KEYS purchase
-- ARGV state, expires_at, will_renew, product_id, checked_at, acknowledged, test, due_at, retires (unused: nobody owns either purchase), bought_at (or ''), order_id (or ''), follows (hashes or '')
-- Prelude purchase-todo.lua: add_todo, save_state, save_owned
-- Answers waits(due at) owned
local LEAST_WAIT_MS = 2000 -- The shortest time between two checks, as in notice-purchase.lua.
local owner, hinted_at, noticed_at = unpack(redis.call('HMGET', purchase, 'owner', 'hintedAt', 'noticedAt'))
if owner or not noticed_at then return {'owned'} end
-- If a notification arrived after the request to the app store was sent, the store's answer may be older than the notification.
if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = string.format('%.0f', checked_at + LEAST_WAIT_MS) end
save_state(due_at)
redis.call('HSET', purchase, 'faults', 0, 'unknowns', 0, 'boughtAt', bought_at, 'orderId', order_id, 'follows', follows)
return {'waits', due_at}
