-- Records the app store's answer about a purchase, also in its owner's account, and the time of the next check.
-- KEYS purchase, linked, due
-- ARGV hash, now, state, expires_at, will_renew, product_id, checked_at, acknowledged, faults, due_at (or ''), linked_hash (or ''), retires
-- Prelude account-purchases.lua: owner_of, account_of, put_line, retire
-- Answers updated(due_at) stale retired
local owner = owner_of(purchase)
local known_at, retired_by, hinted_at = unpack(redis.call('HMGET', purchase, 'checkedAt', 'retiredBy', 'hintedAt'))
if not known_at or retired_by then
  redis.call('ZREM', due, hash)
  return {'retired'}
end
if tonumber(known_at) > tonumber(checked_at) then return {'stale'} end

redis.call('HSET', purchase, 'state', state, 'expiresAt', expires_at, 'willRenew', will_renew, 'productId', product_id)
redis.call('HSET', purchase, 'checkedAt', checked_at, 'acknowledged', acknowledged, 'faults', faults)
-- A notification arrived after the request to the app store was sent: its answer may be older. Check again now.
if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = now end
if due_at == '' then redis.call('ZREM', due, hash) else redis.call('ZADD', due, due_at, hash) end
if redis.call('EXISTS', account_of(owner)) == 1 then put_line(owner, purchase, hash) end
if retires == '1' then retire(linked, linked_hash, hash, owner) end
return {'updated', due_at}
