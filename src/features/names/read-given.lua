-- Reads the name that operators gave an account.
-- KEYS account
-- ARGV -
-- Answers given(name or '')
return {'given', redis.call('HGET', account, 'nameGiven') or ''}
