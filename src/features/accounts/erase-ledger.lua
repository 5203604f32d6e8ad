-- Deletes the ledger and the index of a deleted account, or of a guest that moved into it, a part of them a call.
-- KEYS ledger, moves
-- ARGV from (the first bucket of this call)
-- Library ledger.lua: of_account, tail, bucket_of, whole
-- Answers erased(the next call's from, '' after the last call) not_deleted
--
-- The ledger goes last, because its last entry tells how many buckets there are.
local BUCKETS_A_CALL = 500
if redis.call('GETRANGE', moves, 0, 0) ~= '=' then return {'not_deleted'} end
local _, buckets = bucket_of(ledger, 0, (tail(ledger)))
local first = tonumber(from)
local stop = math.min(first + BUCKETS_A_CALL, buckets)
for bucket = first, stop - 1 do redis.call('UNLINK', of_account(ledger, 'index:' .. bucket)) end
if stop < buckets then return {'erased', whole(stop)} end
redis.call('UNLINK', ledger)
return {'erased', ''}
