-- Reads a version of a save.
-- KEYS saves, texts
-- ARGV game, name, version ('' for the standing one)
-- Prologue check-caller.lua
-- Library saves.lua: whole, versions_of, text_of
-- Answers save(version, at, other, device, text) save_not_found
for _, each in ipairs(versions_of(saves, game, name)) do
  if version == '' or tonumber(version) == each.version then
    local text = text_of(texts, game .. '/' .. name, each.version, each.size_bytes)
    if text then return {'save', whole(each.version), each.at, whole(each.other), each.device, text} end
  end
end
return {'save_not_found'}
