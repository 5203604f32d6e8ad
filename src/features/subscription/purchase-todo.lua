-- Functions for scripts that change a purchase. Gives add_todo() and save_state().
-- Needs purchase (a key), now, and for save_state() the arguments of the purchase's state and due_at.
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
