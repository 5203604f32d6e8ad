-- Deletes a save with all its versions.
-- KEYS saves, texts
-- ARGV game, name, if_version ('' without one)
-- Prologue check-caller.lua
-- Library saves.lua: whole, versions_of, unname_save, text_of, drop_text, note_ended, counted, count_bytes
-- Answers deleted none stale_save(version, at, text)
local save = game .. '/' .. name
local own = versions_of(saves, game, name)
local current = own[1]
if not current then return {'none'} end
if if_version ~= '' and tonumber(if_version) ~= current.version then
  return {'stale_save', whole(current.version), current.at, text_of(texts, save, current.version, current.size_bytes)}
end
local size_bytes = 0
for _, each in ipairs(own) do
  drop_text(texts, save, each.version, each.size_bytes)
  size_bytes = size_bytes + counted(each.size_bytes)
end
note_ended(saves, save, current.version)
count_bytes(saves, game, -current.size_bytes, -size_bytes)
unname_save(saves, game, name)
return {'deleted'}
