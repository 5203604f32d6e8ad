-- Makes coin operations of a coinop of data version 1 on this account fail before their first write.
-- KEYS ledger, moves
-- ARGV -
-- Library ledger.lua: FENCE, unfiled_guests
-- Answers fenced
--
-- It may have been running before the upgrade, and come back afterwards. Repeating a call is harmless.
local last = redis.call('LINDEX', ledger, -1)
local fenced, count = string.gsub(last or '', '^(%d+) ', '%1:')
if count == 1 then redis.call('LSET', ledger, -1, fenced) end

local record = redis.call('GET', moves) or ''
if string.sub(record, 1, 1) ~= '>' and not string.find('\n' .. record, '\n' .. FENCE, 1, true) and #unfiled_guests(record) > 0 then
  redis.call('APPEND', moves, FENCE)
end
return {'fenced'}
