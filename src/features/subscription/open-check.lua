-- What a check of a purchase starts from. One that stands for nothing any more is taken off the queue.
-- KEYS purchase, due
-- ARGV hash
-- Answers open(token, package_name, state, expires_at, will_renew, product_id, faults) over
local kept = redis.call('HMGET', purchase, 'token', 'packageName', 'state', 'expiresAt', 'willRenew', 'productId', 'faults', 'retiredBy')
if not kept[1] or kept[8] then
  redis.call('ZREM', due, hash)
  return {'over'}
end
return {'open', unpack(kept, 1, 7)}
