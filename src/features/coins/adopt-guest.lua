-- Puts the ledger of a guest that moved under data version 1 or 2 under the tag of its account.
-- KEYS ledger, copy
-- ARGV last_seq, is_filed
-- Library ledger.lua: of_account, bucket_of
-- Answers adopted done
--
-- It is the one script with keys of two accounts: data of these versions never lies on a Redis Cluster. A filed ledger needs no index.
-- Repeating a call is harmless.
if redis.call('EXISTS', ledger) == 0 or redis.call('EXISTS', copy) == 1 then return {'done'} end
local _, buckets = bucket_of(ledger, 0, tonumber(last_seq))
for bucket = 0, buckets - 1 do
  local from = of_account(ledger, 'index:' .. bucket)
  if is_filed == '1' then redis.call('UNLINK', from)
  elseif redis.call('EXISTS', from) == 1 then redis.call('RENAME', from, of_account(copy, 'index:' .. bucket)) end
end
redis.call('RENAME', ledger, copy)
return {'adopted'}
