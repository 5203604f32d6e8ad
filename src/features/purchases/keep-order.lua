-- Remembers which purchase has an order number of the store, so that people find the purchase by it.
-- KEYS order
-- ARGV purchase
-- Answers kept
redis.call('SET', order, purchase)
return {'kept'}
