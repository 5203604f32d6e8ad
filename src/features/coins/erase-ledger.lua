-- Deletes a part of the ledger and the index of a deleted account, or of a guest that moved into an account, which has a copy.
-- KEYS ledger, standing
-- ARGV state (the account moved or was deleted: `moved` or `deleted`), from (the first bucket of this call)
-- Library standing.lua: standing_of
-- Library ledger.lua: tail
-- Prelude erase-part.lua: erase_part
-- Answers erased(the next call's from, '' after the last call) kept
if standing_of(standing) ~= state then return {'kept'} end
return {'erased', erase_part(ledger, (tail(ledger)), from)}
