import { z } from 'zod';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { PublishedKey } from './proof-keys.ts';

/**
 * How long caches may keep the set, in seconds. The set changes only when an operator rotates keys. A new key must be published for this
 * long before the service signs with it, so a longer time would make every rotation slower.
 */
const MAX_AGE_SECONDS = 300;

export const jwks = endpoint({
  method: 'GET',
  path: '/.well-known/jwks.json',
  operationId: 'getProofKeys',
  caller: 'none',
  summary: 'The public keys that verify entitlement proofs.',
  description:
    'A JWK set (RFC 7517). The reply is the set alone, without `ok`, so that JOSE libraries can read it. The keys rotate: verify a ' +
    'proof with the key whose `kid` is in its header. If your copy of the set lacks that key, fetch the set again.',
  reply: z.object({ keys: z.array(PublishedKey) }),
  // The media type of a JWK set (RFC 7517, section 8.5.2).
  mediaType: 'application/jwk-set+json',
  example: `curl -s $base/.well-known/jwks.json`,
  handle: (_, { proofs }: Pick<Services, 'proofs'>) =>
    new Reply(new Encoded(JSON.stringify({ keys: proofs.published })), {
      headers: [['cache-control', `public, max-age=${MAX_AGE_SECONDS}`]],
    }),
});
