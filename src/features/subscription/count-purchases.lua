-- Counts the purchases that an account recorded. An account with lines counts as one with a purchase more: older versions wrote lines
-- without listing their purchases.
-- KEYS account, owned
-- ARGV -
-- Answers count(number)
return {'count', string.format('%d', redis.call('SCARD', owned) + redis.call('HEXISTS', account, 'purchases'))}
