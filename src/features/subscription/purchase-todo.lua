-- Functions for scripts that change a purchase. Gives add_todo(), save_state(), save_owned() and leave_unowned().
-- Needs purchase (a key), now, for save_state() the arguments of the purchase's state and due_at, and for save_owned() also token,
-- package_name, act, bound and retires.
--
-- `todo` lists what other keys still have to follow (finish-purchase.ts). Every change that they have to follow raises `revision`, so
-- that `finished` clears no work that came later, and accounts tell an old line from a newer one. A purchase that was released and is
-- recorded again must not begin with 1: an account that owned it before would take its line for an old one.
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
end

-- Takes a purchase that has got an owner out of the queue of those without one.
local function leave_unowned()
  if redis.call('HEXISTS', purchase, 'noticedAt') == 1 then add_todo('leave') end
end

-- Records the app store's answer and the owner. A queued check may have recorded a later answer before this script ran.
local function save_owned(owner_before, owner)
  local known_at, hinted_at = unpack(redis.call('HMGET', purchase, 'checkedAt', 'hintedAt'))
  if not known_at or tonumber(known_at) <= tonumber(checked_at) then
    -- A notification arrived after the request to the app store was sent: its answer may be older. Check again now.
    if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = now end
    redis.call('HSET', purchase, 'token', token, 'packageName', package_name, 'faults', 0)
    save_state(due_at)
  elseif not owner_before and due_at ~= '' then
    -- The check of a purchase without an owner set a later time, and nobody had to acknowledge the purchase then.
    redis.call('HSET', purchase, 'dueAt', due_at, 'faults', 0)
  end
  redis.call('HSET', purchase, 'owner', owner, 'act', act)
  if bound == '1' then redis.call('HSET', purchase, 'bound', 1) end
  add_todo('line')
  if owner_before and owner_before ~= owner then add_todo('drop:' .. owner_before) end
  if retires ~= '' then add_todo('retire:' .. retires) end
end
