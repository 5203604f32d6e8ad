-- Reads the move of a frozen guest, and the data of the guest that the account needs, except for the ledger.
-- KEYS account, ledger, standing
-- ARGV fields (names, separated by blanks)
-- Library standing.lua: standing_of
-- Library standing-changes.lua: move_of
-- Library ledger.lua: of_account, whole, tail, is_small
-- Answers moving(move id, account id, store, day, seq, entries, is small 0|1, credited that day, field …) moved(account id) still
local state, target = standing_of(standing)
if state == 'moved' then return {'moved', target} end
if state ~= 'moving' then return {'still'} end

local move_id, target_id, store, day = move_of(standing)
local answer = {'moving', move_id, target_id, store, day, whole((tail(ledger))), whole(redis.call('LLEN', ledger)),
  is_small(ledger) and '1' or '0', redis.call('GET', of_account(ledger, 'credited:' .. day)) or '0'}
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
for _, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[#answer + 1] = value or '' end
return answer
