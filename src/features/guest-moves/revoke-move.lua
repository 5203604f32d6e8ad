-- Deletes the record of an open move whose guest could not be frozen, so that no account can accept it.
-- KEYS record
-- ARGV -
-- Answers revoked
if redis.call('GETRANGE', record, 0, 4) == 'open ' then redis.call('DEL', record) end
return {'revoked'}
