-- Reads the purchase that a check starts from. A purchase without a record, or replaced by another, leaves the queue.
-- KEYS purchase, due
-- ARGV hash
-- Answers started(token, package_name, state, expires_at, will_renew, product_id, faults) retired
local kept = redis.call('HMGET', purchase, 'token', 'packageName', 'state', 'expiresAt', 'willRenew', 'productId', 'faults', 'retiredBy')
if not kept[1] or kept[8] then
  redis.call('ZREM', due, hash)
  return {'retired'}
end
return {'started', unpack(kept, 1, 7)}
