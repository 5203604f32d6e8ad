-- Appends a chunk of a guest's entries to the copy of the guest's ledger that a move makes, and indexes their idempotency keys.
-- KEYS record, staged
-- ARGV position, last_seq, lines, kept_seconds
-- Library ledger.lua: whole, file_key
-- Answers copied(entries in the copy) closed
--
-- `lines` has "<hash of the idempotency key, or -> <entry>\n" for each entry, and `last_seq` is the seq of the ledger's last entry. The
-- chunk is ignored unless it begins where the copy ends, because several processes may copy at the same time. Each process continues at the
-- position in the answer.
if redis.call('GETRANGE', record, 0, 4) ~= 'open ' then return {'closed'} end
local length = redis.call('LLEN', staged)
if length ~= tonumber(position) then return {'copied', whole(length)} end
-- Once copying has begun, the record of the move is kept for a long time, because the guest is frozen and some process will finish the
-- move.
redis.call('EXPIRE', record, kept_seconds)

local entries = {}
for hash, entry in string.gmatch(lines, '(%S+) ([^\n]*)\n') do
  entries[#entries + 1] = entry
  if hash ~= '-' then file_key(staged, hash, string.match(entry, '<entry: seq>'), tonumber(last_seq)) end
end
redis.call('RPUSH', staged, unpack(entries))
return {'copied', whole(length + #entries)}
