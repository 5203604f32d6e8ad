-- Files the keys of a bucket of data version 1 in the index, and deletes the bucket.
-- KEYS bucket, ledger
-- ARGV hashes
-- Library ledger.lua: tail, file_key
-- Answers filed gone
--
-- `hashes` has "<hash> <seq>\n" for each key of the bucket. Repeating a call is harmless.
if redis.call('EXISTS', bucket) == 0 then return {'gone'} end
local entries = tail(ledger)
for hash, seq in string.gmatch(hashes, '(%S+) (%d+)\n') do file_key(ledger, hash, seq, entries) end
redis.call('DEL', bucket)
return {'filed'}
