-- Deletes a part of the copy that a move made of a guest's ledger. For a move that was refused or is void.
-- KEYS record, staged
-- ARGV last_seq, from (the first bucket of this call)
-- Library ledger.lua
-- Library erase-part.lua: erase_part
-- Answers cleared(the next call's from, '' after the last call) open
if redis.call('GETRANGE', record, 0, 4) == 'open ' then return {'open'} end
return {'cleared', erase_part(staged, tonumber(last_seq), from)}
