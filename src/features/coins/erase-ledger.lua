-- Deletes a part of the ledger and the index of a deleted account, or of a guest that moved.
-- KEYS ledger, standing
-- ARGV state, from (the first bucket of this call)
-- Library standing.lua: standing_of
-- Library standing-changes.lua: had_moved
-- Library ledger.lua: MOST_SEQ, tail, count_forgotten
-- Library erase-part.lua: erase_part
-- Answers erased(the next call's from, '' after the last call) kept
--
-- The ledger is kept if the account's state is not `state`. Of a deleted account the entries are counted as they are deleted. They are not
-- counted if the account has moved: a copy of them is in the account that it moved into, and counts there.
local ENTRIES_A_CALL = 5000 -- reading them takes some milliseconds
if standing_of(standing) ~= state then return {'kept'} end
if state ~= 'deleted' or had_moved(standing) then return {'erased', erase_part(ledger, (tail(ledger)), from)} end

local entries = redis.call('LRANGE', ledger, 0, ENTRIES_A_CALL - 1)
if redis.call('LLEN', ledger) > #entries and tail(ledger) <= MOST_SEQ then
  -- The seq of the last entry gives the number of buckets, so the last entry goes with the last bucket.
  redis.call('LTRIM', ledger, #entries, -1)
  for _, entry in ipairs(entries) do count_forgotten(entry) end
  return {'erased', from}
end
local next_from = erase_part(ledger, (tail(ledger)), from)
if next_from == '' then
  for _, entry in ipairs(entries) do count_forgotten(entry) end
end
return {'erased', next_from}
