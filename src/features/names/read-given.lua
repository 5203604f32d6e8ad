-- Reads the name that an account was given.
-- KEYS account
-- ARGV -
-- Answers given(name or '')
return {'given', redis.call('HGET', account, 'nameGiven') or ''}
