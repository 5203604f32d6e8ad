-- Sets the version of the data, if the version has not changed since it was read.
-- KEYS version
-- ARGV seen ('': none), to
-- Answers set changed
if (redis.call('GET', version) or '') ~= seen then return {'changed'} end
redis.call('SET', version, to)
return {'set'}
