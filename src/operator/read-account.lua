-- Reads what is kept about an account, whether or not it may act.
-- KEYS account, moves, ledger, boards
-- ARGV fields (names, separated by blanks), most_boards
-- Answers account(exists 0|1, move record, last entry or '', oldest entry or '', entries, games, number of games, value …)
local answer = {
  'account',
  redis.call('EXISTS', account) == 1 and '1' or '0',
  redis.call('GET', moves) or '',
  redis.call('LINDEX', ledger, -1) or '',
  redis.call('LINDEX', ledger, 0) or '',
  string.format('%d', redis.call('LLEN', ledger)),
  table.concat(redis.call('SRANDMEMBER', boards, most_boards), ' '),
  string.format('%d', redis.call('SCARD', boards)),
}
local names = {}
for name in string.gmatch(fields, '%S+') do names[#names + 1] = name end
for _, value in ipairs(redis.call('HMGET', account, unpack(names))) do answer[#answer + 1] = value or '' end
return answer
