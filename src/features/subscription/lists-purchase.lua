-- Tells whether an account's set of purchases lists a purchase.
-- KEYS owned
-- ARGV hash
-- Answers listed not_listed
return {redis.call('SISMEMBER', owned, hash) == 1 and 'listed' or 'not_listed'}
