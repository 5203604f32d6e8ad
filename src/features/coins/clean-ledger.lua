-- Deletes the ledger and the index of a guest that moved, a part of them a call: the account has them.
-- KEYS ledger, standing
-- ARGV from (the first bucket of this call)
-- Library standing.lua: standing_of
-- Library ledger.lua: tail
-- Prelude erase-part.lua: erase_part
-- Answers cleaned(the next call's from, '' after the last call) not_moved
if standing_of(standing) ~= 'moved' then return {'not_moved'} end
return {'cleaned', erase_part(ledger, (tail(ledger)), from)}
