-- Appends a chunk of the guest's entries to the copy of its ledger that an open move stages, and files their keys.
-- KEYS record, staged
-- ARGV position, last_seq, lines, kept_seconds
-- Library ledger.lua: whole, file_key
-- Answers copied(entries in the copy) closed
--
-- `lines` has "<hash of the key, or -> <entry>\n" for each entry, and `last_seq` is the seq of the ledger's last entry. The chunk
-- counts only if it begins where the copy ends: several helpers may copy at the same time, and each continues where the answer says.
if redis.call('GETRANGE', record, 0, 4) ~= 'open ' then return {'closed'} end
local length = redis.call('LLEN', staged)
if length ~= tonumber(position) then return {'copied', whole(length)} end
-- A move that has a copy is open for long: its guest is frozen, and somebody will finish it.
redis.call('EXPIRE', record, kept_seconds)

local entries = {}
for hash, entry in string.gmatch(lines, '(%S+) ([^\n]*)\n') do
  entries[#entries + 1] = entry
  if hash ~= '-' then file_key(staged, hash, string.match(entry, '<entry: seq>'), tonumber(last_seq)) end
end
redis.call('RPUSH', staged, unpack(entries))
return {'copied', whole(length + #entries)}
