-- Writes the given name of an account into the index of given names, or removes the account from the index, and tells every process.
-- KEYS index
-- ARGV account_id, name (or ''), most
-- Answers noted unchanged full
if (redis.call('HGET', index, account_id) or '') == name then return {'unchanged'} end
if name == '' then
  redis.call('HDEL', index, account_id)
else
  if redis.call('HLEN', index) > tonumber(most) and redis.call('HEXISTS', index, account_id) == 0 then return {'full'} end
  redis.call('HSET', index, account_id, name)
end
redis.call('HINCRBY', index, 'version', 1)
publish(index, '')
return {'noted'}
