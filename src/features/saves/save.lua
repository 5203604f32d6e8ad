-- Writes a save, unless its data equals the current version.
-- KEYS saves, texts
-- ARGV game, name, text, size_bytes, sum, if_version ('' without one), device, same_as ('' before a comparison), is_bounded
-- Prologue open-account.lua: account, open_account, answer
-- Library saves.lua: whole, parse_versions, put_versions, name_save, count_names, text_of, put_text, drop_text, last_version, counted, count_bytes
-- Answers saved(version, at) unchanged(version, at) compare(version, text) stale_save(version, at, text) save_limit(what is full) rate_limited
--
-- If only the order of members in objects differs, two JSON texts are the same data, and have the same size and sum. So if size and sum are
-- the same, the script answers `compare` with the current text. The service compares the two texts, and calls again with the version as
-- `same_as`, or 0 if the data differs.
local save = game .. '/' .. name
local lines, game_bytes, account_bytes = unpack(redis.call('HMGET', saves, save, game .. '/', ':bytes'))
local own = parse_versions(lines)
local current = own[1]
local version = current and current.version or 0
size_bytes = tonumber(size_bytes)

if current and current.size_bytes == size_bytes and current.sum == sum then
  local standing = tonumber(same_as) == version and text or text_of(texts, save, version, size_bytes)
  if standing == text then
    -- By writing the current data again, the game has chosen between the two versions of a merge.
    if current.other > 0 and tonumber(if_version) == version then
      current.other = 0
      put_versions(saves, game, name, own)
    end
    return {'unchanged', whole(version), current.at}
  end
  if standing and same_as == '' then return {'compare', whole(version), standing} end
end

if if_version ~= '' and tonumber(if_version) ~= version then
  if not current then return {'stale_save', '0'} end
  return {'stale_save', whole(version), current.at, text_of(texts, save, version, current.size_bytes)}
end

local dropped = own[KEPT_VERSIONS]
local game_grows = size_bytes - (current and current.size_bytes or 0)
local account_grows = counted(size_bytes) - (dropped and counted(dropped.size_bytes) or 0)
-- After a move an account may be above a limit. An account that is at a limit may still write a save if the save takes no more bytes than
-- before.
if is_bounded == '1' then
  if not current and count_names(saves, game) >= MOST_NAMES then return {'save_limit', 'names'} end
  if game_grows > 0 and (game_bytes or 0) + game_grows > MOST_GAME_BYTES then return {'save_limit', 'game'} end
  if account_grows > 0 and (account_bytes or 0) + account_grows > MOST_ACCOUNT_BYTES then return {'save_limit', 'account'} end
end
if not open_account(account, creation_barred) then return {'rate_limited'} end

local other = 0
if current then
  if if_version == '' then other = current.other end
  current.other = 0
else
  version = last_version(saves, save)
  name_save(saves, game, name)
end
if dropped then
  drop_text(texts, save, dropped.version, dropped.size_bytes)
  own[KEPT_VERSIONS] = nil
  -- The version with the data of a guest that moved in is no longer kept.
  if dropped.version == other then other = 0 end
end
table.insert(own, 1, {version = version + 1, size_bytes = size_bytes, at = now, sum = sum, other = other, device = device})
put_text(texts, save, version + 1, text)
put_versions(saves, game, name, own)
count_bytes(saves, game, game_grows, account_grows)
return answer('saved', whole(version + 1), now)
