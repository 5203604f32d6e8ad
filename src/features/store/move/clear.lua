-- Deletes the staged copy of a move that was refused or is void, a part of it a call.
-- KEYS record, staged
-- ARGV last_seq, from (the first bucket of this call)
-- Library ledger.lua: of_account, bucket_of, whole
-- Answers cleared(the next call's from, '' after the last call) open
local BUCKETS_A_CALL = 500
if redis.call('GETRANGE', record, 0, 4) == 'open ' then return {'open'} end
local _, buckets = bucket_of(staged, 0, tonumber(last_seq))
local first = tonumber(from)
local stop = math.min(first + BUCKETS_A_CALL, buckets)
for bucket = first, stop - 1 do redis.call('UNLINK', of_account(staged, 'index:' .. bucket)) end
if stop < buckets then return {'cleared', whole(stop)} end
redis.call('UNLINK', staged)
return {'cleared', ''}
