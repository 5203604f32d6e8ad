-- Reads the versions of a game's saves.
-- KEYS saves
-- ARGV game
-- Prologue check-caller.lua
-- Answers saves(name, lines …)
local found = {'saves'}
for name in string.gmatch(redis.call('HGET', saves, game) or '', '%S+') do
  found[#found + 1] = name
  found[#found + 1] = redis.call('HGET', saves, game .. '/' .. name)
end
return found
