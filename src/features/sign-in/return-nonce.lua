-- Makes a used nonce valid again for its session, because the request that used it did nothing.
-- KEYS nonce
-- ARGV session_id, left_ms
-- Answers kept
redis.call('SET', nonce, session_id, 'PX', left_ms, 'NX')
return {'kept'}
