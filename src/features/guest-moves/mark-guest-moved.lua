-- Marks a guest as moved, once its account has accepted it, if the guest is still frozen for this move. This ends the guest's sessions.
-- Background work about the guest (queues, purchases) then goes on for the account.
-- KEYS standing
-- ARGV move_id, target_id, names (of the keys to delete, separated by blanks)
-- Library standing-changes.lua: is_frozen, mark_moved
-- Library ledger.lua: whole, tail, tell_entry
-- Answers closed gone
if not is_frozen(standing, move_id) then return {'gone'} end
mark_moved(standing, target_id)
local tag = string.match(standing, '^{.-}')
-- add-guest-to-account.lua wrote the entry that took the guest's coins away, in the account's slot. The entry's event belongs to the
-- guest, so this script emits it in the guest's slot.
local ledger = tag .. ':ledger'
local last_seq, coins = tail(ledger)
if emits and coins ~= 0 then tell_entry(ledger, last_seq + 1, 0, 'm' .. whole(-coins)) end
for name in string.gmatch(names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end
return {'closed'}
