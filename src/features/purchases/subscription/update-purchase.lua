-- Records the app store's answer about a purchase, and the time of the next check.
-- KEYS purchase
-- ARGV now, state, expires_at, will_renew, product_id, checked_at, acknowledged, test, due_at (or ''), retires (hash or ''), faults, act (or '')
-- Prelude purchase-todo.lua: add_todo, save_state
-- Answers updated(due at) stale(due at) retired
local known_at, retired_by, hinted_at, known_due_at = unpack(redis.call('HMGET', purchase, 'checkedAt', 'retiredBy', 'hintedAt', 'dueAt'))
if not known_at or retired_by then return {'retired'} end
if tonumber(known_at) > tonumber(checked_at) then return {'stale', known_due_at or ''} end

-- If a notification arrived after the request to the app store was sent, the store's answer may be older than the notification, so the
-- purchase is checked again now.
if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = now end
save_state(due_at)
redis.call('HSET', purchase, 'faults', faults)
if act ~= '' then redis.call('HSET', purchase, 'act', act) end
add_todo('line')
if retires ~= '' then add_todo('retire:' .. retires) end
return {'updated', due_at}
