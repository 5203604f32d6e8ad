-- Deletes the ledger and the index of a deleted account, or of a guest that moved into it, a part of them a call.
-- KEYS ledger, standing
-- ARGV from (the first bucket of this call)
-- Library standing.lua: standing_of
-- Library ledger.lua: tail
-- Prelude erase-part.lua: erase_part
-- Answers erased(the next call's from, '' after the last call) not_deleted
if standing_of(standing) ~= 'deleted' then return {'not_deleted'} end
return {'erased', erase_part(ledger, (tail(ledger)), from)}
