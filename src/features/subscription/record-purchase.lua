-- Records the app store's answer about a purchase for the caller, and retires the purchase that it replaced.
-- KEYS purchase, linked, due
-- ARGV hash, account_id, token, package_name, state, expires_at, will_renew, product_id, checked_at, acknowledged, due_at (or ''), linked_hash (or ''), retires
-- Prologue prologue-open.lua: account, open_account, answer
-- Prelude account-purchases.lua: owner_of, is_store_account, has_ended, drop_line, put_line, retire
-- Answers recorded(purchases, reported_subscribed, reported_at, left another account 0|1) retired purchase_owned
local owner = owner_of(purchase)
local is_others = owner and owner ~= account_id
local known_at, retired_by = unpack(redis.call('HMGET', purchase, 'checkedAt', 'retiredBy'))
if is_others and (retired_by or is_store_account(owner)) then return {'purchase_owned'} end
if retired_by then return {'retired'} end
local linked_owner = linked_hash ~= '' and owner_of(linked)
-- A store account keeps a purchase that is still running. Once it has ended, another account may replace it by a new purchase.
local is_linked_to_others = linked_owner and linked_owner ~= account_id and is_store_account(linked_owner)
if is_linked_to_others and not has_ended(linked) then return {'purchase_owned'} end
if not open_account(account, creation_barred) then return {'rate_limited'} end

-- Nothing below refuses. A queued check may have recorded a later answer of the app store before this script ran.
if not known_at or tonumber(known_at) <= tonumber(checked_at) then
  redis.call('HSET', purchase, 'token', token, 'packageName', package_name, 'state', state, 'expiresAt', expires_at)
  redis.call('HSET', purchase, 'willRenew', will_renew, 'productId', product_id, 'checkedAt', checked_at)
  redis.call('HSET', purchase, 'acknowledged', acknowledged, 'faults', 0)
  if due_at == '' then redis.call('ZREM', due, hash) else redis.call('ZADD', due, due_at, hash) end
end
redis.call('HSET', purchase, 'owner', account_id)
if is_others then drop_line(owner, hash) end
put_line(account_id, purchase, hash)
if retires == '1' then retire(linked, linked_hash, hash, account_id) end
local fields = redis.call('HMGET', account, 'purchases', 'reportedSubscribed', 'reportedAt')
return answer('recorded', fields[1] or '', fields[2] or '', fields[3] or '', is_others and '1' or '0')
