-- Reads the index of given names, unless the caller has the present version of the index.
-- KEYS index
-- ARGV known (the version that the caller has, or '')
-- Answers same index(version, account id, name …)
local version = redis.call('HGET', index, 'version') or '0'
if version == known then return {'same'} end
local answer, skips = {'index', version}, false
for place, text in ipairs(redis.call('HGETALL', index)) do
  if place % 2 == 1 then skips = text == 'version' end
  if not skips then answer[#answer + 1] = text end
end
return answer
