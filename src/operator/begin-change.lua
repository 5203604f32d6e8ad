-- Appends the entry of a change that is about to happen to the operators' log.
-- KEYS log
-- ARGV entry
-- Answers begun(number of the entry)
return {'begun', string.format('%.0f', redis.call('RPUSH', log, entry))}
