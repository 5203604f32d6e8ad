-- Functions for scripts that change a purchase. Gives add_todo(), save_state(), save_owned() and leave_unowned().
-- Needs purchase (a key), now, for save_state() the arguments of the purchase's state and due_at, and for save_owned() also store,
-- token, package_name, act, bound and retires.
--
-- `todo` lists the steps that still have to change other keys after a change of the purchase (finish-purchase.ts). Every change that adds a
-- step raises `revision`, so that `clear-steps.lua` does not clear a step of a later change, and an account ignores a line of an older
-- revision. The first revision of a record is a time and not 1. If a purchase was forgotten and is recorded again, it must have a higher
-- revision than before, because its earlier owner would otherwise ignore the line.
local function add_todo(...)
  local todo = redis.call('HGET', purchase, 'todo') or ''
  for _, work in ipairs({...}) do
    if not string.find(' ' .. todo .. ' ', ' ' .. work .. ' ', 1, true) then todo = todo == '' and work or todo .. ' ' .. work end
  end
  redis.call('HSET', purchase, 'todo', todo)
  redis.call('HSETNX', purchase, 'revision', now)
  redis.call('HINCRBY', purchase, 'revision', 1)
end

local function save_state(due_at)
  redis.call('HSET', purchase, 'state', state, 'expiresAt', expires_at, 'willRenew', will_renew, 'productId', product_id)
  redis.call('HSET', purchase, 'checkedAt', checked_at, 'acknowledged', acknowledged, 'dueAt', due_at)
  if test == '1' then redis.call('HSET', purchase, 'test', 1) end
end

-- After a purchase got an owner, adds a step that removes it from the queue of purchases without an owner.
local function leave_unowned()
  if redis.call('HEXISTS', purchase, 'noticedAt') == 1 then add_todo('leave') end
end

-- Records the app store's answer and the owner. If a queued check has recorded a later answer before this script ran, the later answer
-- stays.
local function save_owned(owner_before, owner)
  local known_at, hinted_at = unpack(redis.call('HMGET', purchase, 'checkedAt', 'hintedAt'))
  if not known_at or tonumber(known_at) <= tonumber(checked_at) then
    -- If a notification arrived after the request to the app store was sent, the store's answer may be older than the notification, so the
    -- purchase is checked again now.
    if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = now end
    redis.call('HSET', purchase, 'token', token, 'packageName', package_name, 'faults', 0)
    if store ~= '' then redis.call('HSET', purchase, 'store', store) end
    save_state(due_at)
  elseif not owner_before and due_at ~= '' then
    -- While the purchase had no owner, its check was set to a later time, because nobody could acknowledge it.
    redis.call('HSET', purchase, 'dueAt', due_at, 'faults', 0)
  end
  redis.call('HSET', purchase, 'owner', owner, 'act', act)
  if bound == '1' then redis.call('HSET', purchase, 'bound', 1) end
  add_todo('line')
  if owner_before and owner_before ~= owner then add_todo('drop:' .. owner_before) end
  if retires ~= '' then add_todo('retire:' .. retires) end
end
