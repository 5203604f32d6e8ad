-- Records the app store's answer about a purchase, and the purchase's owner. Then computes which ledger entry the purchase needs after this
-- answer.
-- KEYS purchase
-- ARGV owner_seen (or ''), owner, store, id, package_name, sku, product_id (or ''), unit_coins (or ''), state, quantity, refunded (or ''), order_id, buyer, finished, test, checked_at, act (or '')
-- Prelude purchase-coins.lua: whole, add, decide, document
-- Answers recorded(granting 0|1; field, value …) changed
local CLOCKS_DIFFER_MS = 60000
local known_owner, known_at, product, known_refunded = unpack(redis.call('HMGET', purchase, 'owner', 'checkedAt', 'productId', 'refunded'))
if (known_owner or '') ~= owner_seen then return {'changed'} end

-- No line after this one refuses the call. If a queued check has already recorded a later answer of the store, the later answer stays.
redis.call('HSETNX', purchase, 'at', now)
redis.call('HSET', purchase, 'owner', owner)
if act ~= '' then redis.call('HSET', purchase, 'act', act) end
-- A `checkedAt` in the future comes from a wrong clock, so it must not keep out later answers.
if not known_at or tonumber(known_at) <= tonumber(checked_at) or tonumber(known_at) > now + CLOCKS_DIFFER_MS then
  if refunded ~= '' then redis.call('HSET', purchase, 'tellsRefunds', 1)
  else
    refunded = known_refunded or '0'
    redis.call('HDEL', purchase, 'tellsRefunds')
  end
  redis.call('HSET', purchase, 'store', store, 'packageName', package_name, 'sku', sku, 'state', state, 'quantity', quantity,
    'refunded', refunded, 'checkedAt', checked_at)
  -- After the owner was deleted, the record keeps the store's id of the purchase only until the grant is reported to the store.
  if owner ~= '-' then
    redis.call('HSET', purchase, 'id', id)
    if order_id ~= '' then redis.call('HSET', purchase, 'orderId', order_id) end
    if buyer ~= '' then redis.call('HSET', purchase, 'buyer', buyer) end
  elseif state ~= 'purchased' then redis.call('HDEL', purchase, 'id') end
  if test == '1' then redis.call('HSET', purchase, 'test', 1) end
  if finished == '1' then redis.call('HSET', purchase, 'finished', 1) end
end
-- Product and coins per unit must stay as the catalogue had them at the time of the grant, so they change no more after the first entry.
local entries, granted_at, is_finished = unpack(redis.call('HMGET', purchase, 'entries', 'grantedAt', 'finished'))
entries = tonumber(entries or '0')
if entries == 0 and product_id ~= '' then redis.call('HSET', purchase, 'productId', product_id, 'unitCoins', unit_coins) end
-- `faults` counts failed calls to the store in a row. This check succeeded, so the count is reset. But after the grant it is reset only
-- when the store accepts the report of the grant.
if is_finished or not granted_at then redis.call('HDEL', purchase, 'faults') end
local decided = decide()
return {'recorded', decided == 'topup' and entries == 0 and '1' or '0', document()}
