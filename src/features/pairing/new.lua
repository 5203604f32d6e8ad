-- Opens a pairing. Redis keeps the pairing for `kept_seconds` after it expires, so that a late poll still reads the status.
-- KEYS pair
-- ARGV created_at, life_seconds, kept_seconds, match_code, secret_hash, session_form, address, user_agent
-- Answers opened
local expires_at = tonumber(created_at) + tonumber(life_seconds) * 1000
redis.call('HSET', pair,
  'status', 'pending',
  'createdAt', created_at,
  'expiresAt', string.format('%.0f', expires_at),
  'forgottenAt', string.format('%.0f', expires_at + tonumber(kept_seconds) * 1000),
  'matchCode', match_code,
  'secretHash', secret_hash,
  'sessionForm', session_form,
  'address', address,
  'userAgent', user_agent)
redis.call('EXPIRE', pair, tonumber(life_seconds) + tonumber(kept_seconds))
return {'opened'}
