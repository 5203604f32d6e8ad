-- Writes the state of rooms into the list of a game, or of all games.
-- KEYS order, untils, rooms, version, free, reserved, taken
-- ARGV entries, matches
-- Library listed.lua: list_of, put, sweep, keep_list
-- Answers done
--
-- entries  a line for each room: '<entry> <seq> <present until> <summary>'. `present until`: the argument `ends` of put() in listed.lua
-- matches  '1' for the list of a game, '' for the list of all games
local SWEPT = 20
local list = list_of(order, untils, rooms, version, free, reserved, taken, matches)
for entry, seq, ends, summary in string.gmatch(entries, '(%S+) (%d+) (%d+) ([^\n]*)\n') do put(list, entry, seq, ends, summary) end
sweep(list, SWEPT)
keep_list(list)
return {'done'}
