-- Tells whether the caller may claim a purchase, before the app store is asked for it.
-- KEYS purchase, due, account
-- ARGV account_id, now
-- Prologue prologue-check.lua
-- Prelude account-purchases.lua: owner_of, is_store_account
-- Answers free yours(package_name) others retired purchase_owned
local owner = owner_of(purchase)
if not owner then return {'free'} end
local package_name, retired_by = unpack(redis.call('HMGET', purchase, 'packageName', 'retiredBy'))
if owner == account_id then return retired_by and {'retired'} or {'yours', package_name} end
return {(retired_by or is_store_account(owner)) and 'purchase_owned' or 'others'}
