-- Takes back an open move that did not freeze its guest.
-- KEYS record
-- ARGV -
-- Answers revoked
if redis.call('GETRANGE', record, 0, 4) == 'open ' then redis.call('DEL', record) end
return {'revoked'}
