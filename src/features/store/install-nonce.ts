import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { Nonce, storeUnconfigured } from './model.ts';

export const storeInstallNonce = endpoint({
  method: 'GET',
  path: '/v1/account/store-install/nonce',
  caller: 'none',
  summary: 'Gives a nonce for one install proof.',
  description: 'Without a store to ask: 503 `store_unconfigured`.',
  reply: z.object({ nonce: Nonce, expiresIn: z.number().int().meta({ description: 'Seconds it is good for: 300.' }) }),
  errors: ['store_unconfigured'],
  creates: true,
  example: `curl -s $base/v1/account/store-install/nonce`,
  handle: () => storeUnconfigured(),
});
