-- Reads the next payouts of a season from its list of payouts without an outcome.
-- KEYS payouts, unpaid
-- ARGV count
-- Answers unpaid(player id, '<account id> <coins>[ <outcome>]' …)
local ids = redis.call('LRANGE', unpaid, 0, count - 1)
local answer = {'unpaid'}
if #ids == 0 then return answer end
for index, text in ipairs(redis.call('HMGET', payouts, unpack(ids))) do
  answer[2 * index] = ids[index]
  answer[2 * index + 1] = text or ''
end
return answer
