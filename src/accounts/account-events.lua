-- Events of an account, for scripts that decide what happened to it. Gives tell_event(). A change of coins is told by ledger.lua.
--
-- The number of an event is the seq of the account's last ledger entry plus the account's field `events`, which counts all events that are
-- no entries. So an entry of the ledger, the most frequent event, counts nothing beside itself.

-- `words` is what the event tells, separated by blanks, or ''. The event of an account that has no fields has no number.
local function tell_event(id, letter, words)
  if not emits then return end
  local account, number = '{' .. id .. '}:account', '-'
  if redis.call('EXISTS', account) == 1 then
    local last = redis.call('LINDEX', '{' .. id .. '}:ledger', -1)
    local others = redis.call('HINCRBY', account, 'events', 1)
    number = string.format('%d', others + (last and tonumber(string.match(last, '^%d+')) or 0))
  end
  emit(letter .. ' ' .. id .. ' ' .. number .. (words == '' and '' or ' ' .. words))
end
