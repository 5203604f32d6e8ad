-- Puts the outcome of a change into its entry in the operators' log.
-- KEYS log
-- ARGV number, begun, ended
-- Answers ended other
--
-- A log that was restored from a backup meanwhile may have another entry of this number, which stays.
if redis.call('LINDEX', log, number - 1) ~= begun then return {'other'} end
redis.call('LSET', log, number - 1, ended)
return {'ended'}
