-- Notes the issuer of a provider's name before the first account of the provider begins, unless the name is known.
-- KEYS names
-- ARGV name, issuer
-- Answers noted known(issuer)
redis.call('HSETNX', names, name, issuer)
local known = redis.call('HGET', names, name)
if known == issuer then return {'noted'} end
return {'known', known}
