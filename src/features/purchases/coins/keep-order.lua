-- Stores which purchase has an order number of the app store, so that people can find the purchase by the number.
-- KEYS order
-- ARGV purchase
-- Answers kept
redis.call('SET', order, purchase)
return {'kept'}
