-- Deletes the ledger and the index of a guest that moved, a part of them a call: the account has them.
-- KEYS ledger, moves
-- ARGV from (the first bucket of this call)
-- Library ledger.lua: tail
-- Prelude erase-part.lua: erase_part
-- Answers cleaned(the next call's from, '' after the last call) not_moved
if redis.call('GETRANGE', moves, 0, 0) ~= '>' then return {'not_moved'} end
return {'cleaned', erase_part(ledger, (tail(ledger)), from)}
