-- Counts the purchases that an account recorded. An account with lines counts as one with a purchase more: a guest that moved in brought
-- lines, whose purchases are not listed.
-- KEYS account, owned
-- ARGV -
-- Answers count(number)
return {'count', string.format('%d', redis.call('SCARD', owned) + redis.call('HEXISTS', account, 'purchases'))}
