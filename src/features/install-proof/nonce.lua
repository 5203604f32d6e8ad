-- Records a nonce for one install proof, and the account that requested the nonce.
-- KEYS nonce
-- ARGV owner, expires_at, kept_seconds
-- Prologue prologue-check.lua
-- Answers given
redis.call('HSET', nonce, 'owner', owner, 'expiresAt', expires_at)
redis.call('EXPIRE', nonce, kept_seconds)
return {'given'}
