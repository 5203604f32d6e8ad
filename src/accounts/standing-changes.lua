-- Functions that change an account's standing, and checks before a change. standing.ts has the formats of the record's parts. These
-- functions are not in standing.lua, because each function in standing.lua costs a batch of coin operations 45 ns.
-- Gives record_of(), move_of(), is_frozen(), had_moved(), is_erased(), freeze(), thaw(), ban(), unban(), end_sessions(), mark_moved(),
-- mark_deleted(), keep_tombstone() and add_guest(). Functions that write check nothing.

-- Returns the text in Redis that says whether the account is open, moved, banned or deleted, or '' if there is no text. `parseStanding` of
-- standing.ts reads this text.
local function record_of(standing) return redis.call('GET', standing) or '' end

-- For a guest that is moving, returns the id of the move, the account that the guest moves into, the app store and the day.
local function move_of(standing) return string.match(redis.call('GET', standing), '<frozen: move_id, target, store, day>') end

-- Whether the guest is frozen for this move. Every step that writes to the guest must check it: the step of a slow process may run when the
-- guest has already been thawed, is frozen for another move, or has moved.
local function is_frozen(standing, move_id)
  local begin = '~' .. move_id .. ' '
  return redis.call('GETRANGE', standing, 0, #begin - 1) == begin
end

-- Whether a deleted account, whose data is not erased yet, had moved into another account. That account has a copy of its ledger.
local function had_moved(standing) return string.find(record_of(standing), '^=%d+\n>') ~= nil end

-- Whether the account was deleted and all its data is erased.
local function is_erased(standing)
  local record = record_of(standing)
  return string.match(record, '<tombstone: at>') ~= nil and not string.find(record, '\n', 1, true)
end

local function write_standing(standing, record)
  if record == '' then redis.call('DEL', standing) else redis.call('SET', standing, record) end
end

-- Tells all processes on the channel `standings` that an account has moved, or was banned or deleted, or that its sessions were ended. The
-- processes then check the callers of the account's room connections again (features/rooms/presence.ts).
local function tell_processes(standing) announce('standings', string.match(standing, '^{(.-)}')) end

local function freeze(standing, move_id, target_id, store, day)
  local before = record_of(standing)
  redis.call('SET', standing, string.format('<frozen>', move_id, target_id, store, day, before))
end

-- Gives a frozen guest the record that it had before the freeze.
local function thaw(standing) write_standing(standing, string.match(redis.call('GET', standing), '<frozen: behind>')) end

-- Bans the account, and replaces an earlier ban.
local function ban(standing, ban_end, since, reason)
  local record = record_of(standing)
  redis.call('SET', standing, string.format('<ban>', ban_end, since, reason, string.match(record, '<ban: behind>') or record))
  tell_processes(standing)
end

-- Ends the ban. Returns whether the account had a ban, even if that ban had already ended.
local function unban(standing)
  local behind = string.match(record_of(standing), '<ban: behind>')
  if behind then write_standing(standing, behind) end
  return behind ~= nil
end

-- Ends all sessions of the account. New sessions belong to the next generation, which the function returns.
local function end_sessions(standing)
  local record = record_of(standing)
  local ban_words, behind = string.match(record, '<ban: ends_at..reason, behind>')
  local generation, moved_in = string.match(behind or record, '<generation>')
  local next_generation = string.format('%d', tonumber(generation or '0') + 1)
  local changed = string.format('<generation>', next_generation, moved_in or behind or record)
  redis.call('SET', standing, ban_words and string.format('<ban: ends_at..reason, behind>', ban_words, changed) or changed)
  tell_processes(standing)
  return next_generation
end

local function mark_moved(standing, target_id)
  redis.call('SET', standing, string.format('<moved>', target_id))
  tell_processes(standing)
end

-- Marks the account as deleted. The record keeps its former text after the time of the deletion, because that text names the guests that
-- still have to be erased, and says whether the account had moved.
local function mark_deleted(standing, at)
  redis.call('SET', standing, string.format('<tombstone>', at, record_of(standing)))
  tell_processes(standing)
end

-- Replaces the record of a deleted account by the time of its deletion.
local function keep_tombstone(standing, at) redis.call('SET', standing, string.format('<tombstone: at>', at)) end

-- Adds a guest whose last ledger entry has the seq `last_seq`. `number` is 1 for the first guest of the account. `is_filed`: whether the
-- guest's ledger is filed with the account's ledger.
local function add_guest(standing, id, last_seq, number, is_filed)
  redis.call('APPEND', standing, string.format('<guest>', id, last_seq, is_filed and '=' or '*', is_filed and '' or number))
end
