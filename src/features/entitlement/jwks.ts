import { z } from 'zod';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { PublishedKey } from './proof-keys.ts';

/**
 * The set changes only where somebody rotates keys, and a new key is published before it signs: five minutes spare a
 * cache nearly every fetch, and are soon waited for between the two steps.
 */
const MAX_AGE_SECONDS = 300;

export const jwks = endpoint({
  method: 'GET',
  path: '/.well-known/jwks.json',
  caller: 'none',
  summary: 'The public keys that verify entitlement proofs.',
  description:
    'A JWK set (RFC 7517), served bare, without `ok`, so that JOSE libraries can read it. The keys rotate: a proof is verified by ' +
    'the one whose `kid` its header names; where that is not among those you hold, fetch the set again.',
  reply: z.object({ keys: z.array(PublishedKey) }),
  // RFC 7517, section 8.5.2.
  mediaType: 'application/jwk-set+json',
  example: `curl -s $base/.well-known/jwks.json`,
  handle: (_, { proofKeys }) =>
    new Reply(new Encoded(JSON.stringify({ keys: proofKeys.published })), {
      headers: [['cache-control', `public, max-age=${MAX_AGE_SECONDS}`]],
    }),
});
