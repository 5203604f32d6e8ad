import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { Nonce, storeUnconfigured, StoreToken } from './model.ts';

export const storeInstall = endpoint({
  method: 'POST',
  path: '/v1/account/store-install',
  caller: 'none',
  summary: 'Proves that an install of the app is genuine, by the integrity token made for a nonce.',
  description: 'Without a store to ask: 503 `store_unconfigured`, and nothing is proven.',
  body: z.object({
    nonce: Nonce,
    integrityToken: StoreToken.meta({ description: "The store's attestation of the install, made for this nonce." }),
  }),
  reply: z.object({ packageName: z.string().meta({ description: 'The app that was proven genuine.' }) }),
  errors: ['store_unconfigured'],
  example:
    `curl -s $base/v1/account/store-install -H 'content-type: application/json' ` +
    `-d '{"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","integrityToken":"token-from-the-store"}'`,
  handle: () => storeUnconfigured(),
});
