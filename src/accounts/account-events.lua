-- Emits events of an account, for scripts that change it. Gives tell_event(). ledger.lua emits changes of coins.
--
-- The number of an event is the seq of the account's last ledger entry, plus the account's field `events`, which is the count of all other
-- events. So a ledger entry, the most frequent event, needs no counter.

-- Emits an event. `letter` is its kind. `words` is the event's data, separated by blanks, or ''. If the account has no fields, the number
-- of the event is '-'.
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
