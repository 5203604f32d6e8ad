-- A room's head, "<seq> <phase> <expires at>", for every script that reads one. Gives stands().

-- Whether there is a room, and its time is not over.
local function stands(head, at) return head and tonumber(string.match(head, '%d+$')) > at end
