-- Records the outcome of a change in its entry of the operators' log.
-- KEYS log
-- ARGV number, begun, ended
-- Answers ended other
--
-- If a backup was restored meanwhile, the log may have another entry with this number. That entry is not changed.
if redis.call('LINDEX', log, number - 1) ~= begun then return {'other'} end
redis.call('LSET', log, number - 1, ended)
return {'ended'}
