-- Reads the move of a guest, and what the account needs of the guest besides its ledger.
-- KEYS account, ledger, moves
-- ARGV fields (names, separated by blanks)
-- Library ledger.lua: of_account, whole, tail, is_small
-- Answers moving(move id, account id, store, day, seq, entries, is small 0|1, credited that day, field …) moved(account id) still
local record = redis.call('GET', moves) or ''
local target = string.match(record, '^>(.*)')
if target then return {'moved', target} end
local move_id, target_id, store, day = string.match(record, '^~(%S+) (%S+) (%S+) (%S+)\n')
if not move_id then return {'still'} end

local answer = {'moving', move_id, target_id, store, day, whole((tail(ledger))), whole(redis.call('LLEN', ledger)),
  is_small(ledger) and '1' or '0', redis.call('GET', of_account(ledger, 'credited:' .. day)) or '0'}
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
for _, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[#answer + 1] = value or '' end
return answer
