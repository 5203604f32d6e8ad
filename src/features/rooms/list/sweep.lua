-- Removes entries of a list that are past their time.
-- KEYS order, untils, rooms, version, free, reserved, taken
-- ARGV most, matches
-- Library listed.lua: list_of, sweep
-- Answers swept(number)
return {'swept', string.format('%d', sweep(list_of(order, untils, rooms, version, free, reserved, taken, matches), most))}
