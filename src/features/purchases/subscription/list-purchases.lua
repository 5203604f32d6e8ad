-- Lists some of the purchases that an account recorded. Another account may own such a purchase now.
-- KEYS account, owned
-- ARGV cursor (0 at first), count
-- Answers purchases(next cursor, 0 after the last page; hash …)
--
-- The first page also has the purchases of the account's lines, because purchases of a guest that moved in are in the guest's set only.
local found = redis.call('SSCAN', owned, cursor, 'COUNT', count)
local answer = {'purchases', found[1]}
for _, hash in ipairs(found[2]) do answer[#answer + 1] = hash end
if cursor ~= '0' then return answer end
for line in string.gmatch(redis.call('HGET', account, 'purchases') or '', '[^\n]+') do
  local hash = string.match(line, '<line: hash>')
  if redis.call('SISMEMBER', owned, hash) == 0 then answer[#answer + 1] = hash end
end
return answer
