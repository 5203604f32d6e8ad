-- Adds a save of a guest to the account that the guest moved into. If both have a save of this name, the account's data stays the current
-- version, and the guest's data becomes the version before it. `other` of the current version names that version. A call that is repeated
-- does nothing.
-- KEYS saves, texts, standing
-- ARGV guest_id, game, name, lines (of the save's versions, '' after the last save), joined_texts (of these versions, without separators)
-- Library standing.lua: standing_of
-- Library saves.lua: parse_versions, versions_of, put_versions, name_save, text_of, put_text, drop_text, last_version, counted, count_bytes
-- Answers joined account_deleted
--
-- A guest's saves are added in the order of their fields, so one field for each guest is enough to record which of them were added.
if standing_of(standing) == 'deleted' then return {'account_deleted'} end
local save = game .. '/' .. name
if (redis.call('HGET', saves, ':' .. guest_id) or '') >= save then return {'joined'} end

local brought, from = parse_versions(lines), 1
for _, each in ipairs(brought) do
  each.text, from = string.sub(joined_texts, from, from + each.size_bytes - 1), from + each.size_bytes
end
redis.call('HSET', saves, ':' .. guest_id, save)
if #brought == 0 then return {'joined'} end

local own = versions_of(saves, game, name)
local current, game_grows, account_grows = own[1], 0, 0
local function put(each)
  put_text(texts, save, each.version, each.text)
  account_grows = account_grows + counted(each.size_bytes)
end
local function drop(each)
  drop_text(texts, save, each.version, each.size_bytes)
  account_grows = account_grows - counted(each.size_bytes)
end

if not current then
  -- If the account has deleted a save of this name, the new versions have higher numbers than the deleted ones.
  local shift = math.max(0, last_version(saves, save) + 1 - brought[#brought].version)
  for _, each in ipairs(brought) do
    each.version, each.other = each.version + shift, each.other > 0 and each.other + shift or 0
    put(each)
  end
  own, game_grows = brought, brought[1].size_bytes
  name_save(saves, game, name)
else
  local newest = brought[1]
  current.text = text_of(texts, save, current.version, current.size_bytes) or ''
  if current.text == newest.text then return {'joined'} end
  local last = math.max(current.version, newest.version)
  drop(current)
  current.version, current.other, newest.version, newest.other = last + 2, last + 1, last + 1, 0
  put(newest)
  put(current)
  table.insert(own, 2, newest)
  if #own > KEPT_VERSIONS then drop(table.remove(own)) end
end
put_versions(saves, game, name, own)
count_bytes(saves, game, game_grows, account_grows)
return {'joined'}
