-- Gives a nonce back to the session whose request did nothing.
-- KEYS nonce
-- ARGV session_id, left_ms
-- Answers kept
redis.call('SET', nonce, session_id, 'PX', left_ms, 'NX')
return {'kept'}
