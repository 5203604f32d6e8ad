-- A room's head is "<seq> <phase> <expires at>", the last in milliseconds since 1970. Every script that reads a head shares
-- this file. Gives is_alive().

-- Whether the room exists and has not expired at `at`.
local function is_alive(head, at) return head and tonumber(string.match(head, '%d+$')) > at end
