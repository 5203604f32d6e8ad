-- The saves of an account, for every script that reads or changes them.
-- Defines whole(), parse_versions(), versions_of(), put_versions(), name_save(), unname_save(), count_names(), text_of(), put_text(),
-- drop_text(), last_version(), note_ended(), counted() and count_bytes().
--
-- The hash `saves` has a field for each save, `<game>/<name>`, with a line for each of its versions, the current version first
-- (`saveVersion` of model.ts). So a call reads only its own save, however many saves moves have brought. A game has two more fields:
-- `<game>` has the names of its saves, and `<game>/` the sum of the bytes of their current versions. The other fields begin with a colon.
-- `:bytes` is the number of bytes that all versions of the account count for. `:ended` has the last versions of deleted saves, and `:floor`
-- the highest version that `:ended` had to drop. For each guest that moved in, `:<id>` is the last of its saves that was added.
--
-- The hash `texts` has the JSON of each version in pieces, as fields `<game>/<name>/<version>/<number of the piece>`.
--
-- TypeScript gives KEPT_VERSIONS, MOST_NAMES, MOST_GAME_BYTES, MOST_ACCOUNT_BYTES, LEAST_BYTES and PIECE_BYTES.
local MOST_ENDED = 64 -- the deleted saves of which the last version is known. Further ones would let an account grow for ever

local function whole(number) return string.format('%d', number) end

local function parse_versions(lines)
  local versions = {}
  for version, size_bytes, at, sum, other, device in string.gmatch(lines or '', '<save>') do
    versions[#versions + 1] = {
      version = tonumber(version), size_bytes = tonumber(size_bytes), at = at, sum = sum, other = tonumber(other), device = device,
    }
  end
  return versions
end

local function versions_of(saves, game, name) return parse_versions(redis.call('HGET', saves, game .. '/' .. name)) end

local function put_versions(saves, game, name, versions)
  local lines = {}
  for index, each in ipairs(versions) do
    lines[index] = string.format('<save>', each.version, each.size_bytes, each.at, each.sum, each.other, each.device)
  end
  redis.call('HSET', saves, game .. '/' .. name, table.concat(lines))
end

local function name_save(saves, game, name)
  local names = redis.call('HGET', saves, game)
  redis.call('HSET', saves, game, names and names .. ' ' .. name or name)
end

-- Removes a save from its game. The last save of a game leaves no field.
local function unname_save(saves, game, name)
  local kept = {}
  for each in string.gmatch(redis.call('HGET', saves, game), '%S+') do
    if each ~= name then kept[#kept + 1] = each end
  end
  redis.call('HDEL', saves, game .. '/' .. name)
  if #kept > 0 then redis.call('HSET', saves, game, table.concat(kept, ' ')) else redis.call('HDEL', saves, game, game .. '/') end
end

local function count_names(saves, game)
  local _, count = string.gsub(redis.call('HGET', saves, game) or '', '%S+', '')
  return count
end

local function pieces_of(place, version, size_bytes)
  local fields = {}
  -- No version is larger than a game's bytes. A larger size is damaged, and would keep Redis busy for ever.
  size_bytes = math.max(1, math.min(size_bytes, MOST_GAME_BYTES))
  for piece = 0, math.floor((size_bytes - 1) / PIECE_BYTES) do fields[piece + 1] = place .. '/' .. whole(version) .. '/' .. piece end
  return fields
end

-- Returns the text of a version. Returns nil if the text was dropped after its version was read, or is lost.
local function text_of(texts, place, version, size_bytes)
  local pieces = redis.call('HMGET', texts, unpack(pieces_of(place, version, size_bytes)))
  for _, piece in ipairs(pieces) do
    if not piece then return nil end
  end
  return table.concat(pieces)
end

local function put_text(texts, place, version, text)
  for piece, field in ipairs(pieces_of(place, version, #text)) do
    redis.call('HSET', texts, field, string.sub(text, (piece - 1) * PIECE_BYTES + 1, piece * PIECE_BYTES))
  end
end

local function drop_text(texts, place, version, size_bytes) redis.call('HDEL', texts, unpack(pieces_of(place, version, size_bytes))) end

-- Returns the version after which a new save begins. This version is 0 unless the save was deleted before, because the numbers of deleted
-- versions must not be used again.
local function last_version(saves, place)
  local ended, floor = unpack(redis.call('HMGET', saves, ':ended', ':floor'))
  for each, version in string.gmatch(ended or '', '<ended>') do
    if each == place then return tonumber(version) end
  end
  return tonumber(floor or 0)
end

local function note_ended(saves, place, version)
  local ended, floor = unpack(redis.call('HMGET', saves, ':ended', ':floor'))
  local kept = {}
  for each, last in string.gmatch(ended or '', '<ended>') do
    if each ~= place then kept[#kept + 1] = {each, tonumber(last)} end
  end
  kept[#kept + 1] = {place, version}
  if #kept > MOST_ENDED then redis.call('HSET', saves, ':floor', whole(math.max(tonumber(floor or 0), table.remove(kept, 1)[2]))) end
  for index, each in ipairs(kept) do kept[index] = string.format('<ended>', each[1], each[2]) end
  redis.call('HSET', saves, ':ended', table.concat(kept))
end

local function counted(size_bytes) return math.max(size_bytes, LEAST_BYTES) end

-- Adds to the bytes of the current versions of the game's saves, and to the bytes that all versions of the account count for.
local function count_bytes(saves, game, of_game, of_account)
  redis.call('HINCRBY', saves, game .. '/', whole(of_game))
  redis.call('HINCRBY', saves, ':bytes', whole(of_account))
end
