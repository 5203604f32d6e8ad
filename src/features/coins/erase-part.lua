-- Deletes a ledger and its index, at most BUCKETS_A_CALL buckets of the index in one call. Defines erase_part().
--
-- The ledger is deleted after all buckets, because the seq of its last entry gives the number of buckets.
local BUCKETS_A_CALL = 500

-- Deletes buckets of the index, beginning with the number `from_bucket`. Returns the `from_bucket` of the next call, or '' if no bucket is
-- left.
local function erase_part(of_ledger, last_seq, from_bucket)
  if last_seq > MOST_SEQ then last_seq = redis.call('LLEN', of_ledger) end
  local _, buckets = bucket_of(of_ledger, 0, last_seq)
  local first = tonumber(from_bucket)
  local stop = math.min(first + BUCKETS_A_CALL, buckets)
  for bucket = first, stop - 1 do redis.call('UNLINK', of_account(of_ledger, 'index:' .. bucket)) end
  if stop < buckets then return whole(stop) end
  redis.call('UNLINK', of_ledger)
  return ''
end
