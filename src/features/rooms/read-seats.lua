-- Finds the seats that some accounts have in a room.
-- KEYS room
-- ARGV owners (account ids, separated by blanks), now
-- Library head.lua
-- Answers seats(the public room without its state as JSON, player id …) none
local head, doc_text = unpack(redis.call('HMGET', room, 'head', 'doc'))
if not is_alive(head, tonumber(now)) then return {'none'} end
local is_owner = {}
for owner in string.gmatch(owners, '%S+') do is_owner[owner] = true end

local answer = {'seats', doc_text}
for _, player in ipairs(cjson.decode(doc_text).players) do
  if is_owner[redis.call('HGET', room, player.id)] then answer[#answer + 1] = player.id end
end
return answer
