-- Deletes a ledger and its index, BUCKETS_A_CALL buckets a call. Defines erase_part().
--
-- The ledger is deleted last, because its last entry shows how many buckets there are.
local BUCKETS_A_CALL = 500

-- Deletes from the bucket `from` on. Returns the `from` of the next call, '' after the last one.
local function erase_part(of_ledger, last_seq, from_bucket)
  local _, buckets = bucket_of(of_ledger, 0, last_seq)
  local first = tonumber(from_bucket)
  local stop = math.min(first + BUCKETS_A_CALL, buckets)
  for bucket = first, stop - 1 do redis.call('UNLINK', of_account(of_ledger, 'index:' .. bucket)) end
  if stop < buckets then return whole(stop) end
  redis.call('UNLINK', of_ledger)
  return ''
end
