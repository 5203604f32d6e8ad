-- Runs a command that reads one key.
-- KEYS key
-- ARGV command, words (JSON list)
-- Answers read(words of the reply)
local reply = redis.call(command, key, unpack(cjson.decode(words)))
if type(reply) == 'number' then reply = string.format('%.0f', reply) end
if type(reply) ~= 'table' then reply = {reply or ''} end
for index = 1, #reply do reply[index] = reply[index] or '' end
-- `unpack` is not used, because it takes some thousand words at most.
table.insert(reply, 1, 'read')
return reply
