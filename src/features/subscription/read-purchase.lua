-- Reads a purchase.
-- KEYS purchase
-- ARGV -
-- Answers found(owner, revision, todo, retired by, token, package, state, expires at, will renew, checked at, product, faults, due at) unknown
local found = redis.call('HMGET', purchase,
  'owner', 'revision', 'todo', 'retiredBy', 'token', 'packageName', 'state', 'expiresAt', 'willRenew', 'checkedAt', 'productId', 'faults', 'dueAt')
if not found[1] then return {'unknown'} end
for index = 1, 13 do found[index] = found[index] or '' end
return {'found', unpack(found)}
