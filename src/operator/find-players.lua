-- Finds the accounts of players by player ids.
-- KEYS players
-- ARGV player_ids (separated by blanks)
-- Answers players(account id or '' …)
local ACCOUNT_LENGTH = 22 -- layout of an entry: board.lua
local ids = {}
for id in string.gmatch(player_ids, '%S+') do ids[#ids + 1] = id end
local answer = {'players'}
for index, text in ipairs(redis.call('HMGET', players, unpack(ids))) do
  answer[index + 1] = text and string.sub(text, 1, ACCOUNT_LENGTH) or ''
end
return answer
