-- Finds the accounts of players by player ids.
-- KEYS players
-- ARGV player_ids (separated by blanks)
-- Answers players(account id or '' …)
local ids = {}
for id in string.gmatch(player_ids, '%S+') do ids[#ids + 1] = id end
local answer = {'players'}
for index, text in ipairs(redis.call('HMGET', players, unpack(ids))) do
  answer[index + 1] = text and string.sub(text, '<player: account_id>') or ''
end
return answer
