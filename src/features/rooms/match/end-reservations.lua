-- Ends reservations of seats in a room, and writes the room's new summary in the same step, so that a seat is never both reserved and
-- taken.
-- KEYS order, untils, rooms, version, free, reserved, taken
-- ARGV entry, accounts, line, outcome
-- Library listed.lua: list_of, remembered, forget, put, release, keep_list
-- Answers done
--
-- accounts  the ids of the accounts whose reservations end, separated by blanks
-- line      the room's line, '<entry> <seq> <present until> <summary>', as in write-rooms.lua; '' to write no summary
-- outcome   'gone': the room does not exist, and will not be created under this entry; else ''
local list = list_of(order, untils, rooms, version, free, reserved, taken, '1')
for account in string.gmatch(accounts, '%S+') do release(list, entry, account) end
if outcome == 'gone' and remembered(list, entry) then
  forget(list, {entry})
  list.changed = entry
end
for known, seq, ends, summary in string.gmatch(line, '(%S+) (%d+) (%d+) ([^\n]*)\n') do put(list, known, seq, ends, summary) end
keep_list(list)
return {'done'}
