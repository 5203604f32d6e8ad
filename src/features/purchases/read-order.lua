-- Reads which purchase has an order number of the store.
-- KEYS order
-- ARGV -
-- Answers purchase(id, or '')
return {'purchase', redis.call('GET', order) or ''}
