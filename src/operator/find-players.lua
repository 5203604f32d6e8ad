-- Looks through a part of a board's players for those of some ids. An entry has the player's id, and no key leads from the id to the
-- account.
-- KEYS players
-- ARGV player_ids (separated by blanks), cursor (0 at first), count
-- Answers players(next cursor, 0 after the last part; player id, account id …)
local PLAYER_ID, PLAYER_ID_END = 22, 33 -- layout of an entry: submit.lua
local wanted = {}
for id in string.gmatch(player_ids, '%S+') do wanted[id] = true end
local found = redis.call('HSCAN', players, cursor, 'COUNT', count)
local answer = {'players', found[1]}
for index = 1, #found[2], 2 do
  local id = string.sub(found[2][index + 1], PLAYER_ID, PLAYER_ID_END)
  if wanted[id] then
    answer[#answer + 1] = id
    answer[#answer + 1] = found[2][index]
  end
end
return answer
