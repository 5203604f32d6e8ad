-- Ends reservations of a match, and writes the room's new summary in the same step, so that no seat counts twice.
-- KEYS order, untils, rooms, version, free, reserved, taken
-- ARGV entry, accounts, line, outcome
-- Library listed.lua: list_of, remembered, forget, put, release, keep_list
-- Answers done
--
-- accounts  accounts whose reservations end, separated by blanks: all accounts that have seats in the room
-- line      '<entry> <seq> <present until> <summary>' of the room, or ''
-- outcome   'gone': the room does not exist, and will not be created under this entry
local list = list_of(order, untils, rooms, version, free, reserved, taken, '1')
for account in string.gmatch(accounts, '%S+') do release(list, entry, account) end
if outcome == 'gone' and remembered(list, entry) then
  forget(list, {entry})
  list.changed = entry
end
for known, seq, ends, summary in string.gmatch(line, '(%S+) (%d+) (%d+) ([^\n]*)\n') do put(list, known, seq, ends, summary) end
keep_list(list)
return {'done'}
