import { z } from 'zod';
import { googleEndpoint } from './google/google-endpoint.ts';
import { googleReply } from './google/google-reply.ts';

const PublishedKey = z.object({
  kty: z.literal('RSA'),
  n: z.string(),
  e: z.string(),
  kid: z.string().meta({ description: 'The `kid` in the header of the tokens that this key verifies.' }),
  alg: z.literal('RS256'),
  use: z.literal('sig'),
});

export const sandboxJwks = googleEndpoint({
  method: 'GET',
  path: '/sandbox/jwks.json',
  operationId: 'sandboxGetKeys',
  summary: "The sandbox's stand-in for Google's certificates: the public keys of its ID tokens.",
  description: 'Stands in for www.googleapis.com/oauth2/v3/certs. Like that endpoint it answers without `ok`.',
  reply: z.object({ keys: z.array(PublishedKey) }),
  example: `curl -s $base/sandbox/jwks.json`,
  async handle(_, { sandbox }) {
    const { jwks } = await sandbox.keys.get();
    // The same header as Google's, with an hour: https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken
    return googleReply(jwks, { headers: [['cache-control', 'public, max-age=3600, must-revalidate, no-transform']] });
  },
});
