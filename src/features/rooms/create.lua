-- Creates a room with a given code, unless a room with this code exists that has not expired.
-- KEYS room, seats
-- ARGV code, fields, account_id, ttl_ms
-- Shared seats_kept_seconds
-- Prologue open-account.lua: open_account, list_in_account, answer
-- Library room.lua: find_room
-- Answers created taken
--
-- fields  the fields of the room: a line with the name and a line with the text, in turn. Each line ends with a line break, because a text
--         may be empty
if find_room(room) then return {'taken'} end
if account_id ~= '' and not open_account(account, creation_barred) then return {'rate_limited'} end
redis.call('DEL', room)
local words = {}
for line in string.gmatch(fields, '([^\n]*)\n') do words[#words + 1] = line end
redis.call('HSET', room, unpack(words))
redis.call('PEXPIRE', room, ttl_ms)
if account_id ~= '' then
  redis.call('HSET', room, 'given', 1, 'p1:account', account_id, 'p1:acted', now)
  list_in_account(seats, code, seats_kept_seconds)
else redis.call('HSET', room, 'given', 0, 'server:acted', now) end
count_today('rooms', 1)
return answer('created')
