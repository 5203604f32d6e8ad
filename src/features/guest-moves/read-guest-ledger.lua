-- Reads a chunk of a frozen guest's ledger.
-- KEYS ledger, standing
-- ARGV move_id, position (entries before the chunk)
-- Library standing-changes.lua: is_frozen
-- Answers entries(entry …) thawed
--
-- After the end of the ledger the chunk is empty. The chunks are bounded, so that this script, the transfer of its answer and
-- copy-guest-ledger.lua take a few milliseconds.
local MOST_ENTRIES, MOST_BYTES = 500, 65536
if not is_frozen(standing, move_id) then return {'thawed'} end
local answer, bytes = {'entries'}, 0
for index, entry in ipairs(redis.call('LRANGE', ledger, position, position + MOST_ENTRIES - 1)) do
  bytes = bytes + #entry
  if bytes > MOST_BYTES and index > 1 then break end
  answer[index + 1] = entry
end
return answer
