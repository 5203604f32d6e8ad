import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { AccountId, OptionalInstallId } from '../accounts/model.ts';
import { storeUnconfigured, StoreToken } from './model.ts';

export const storeProvision = endpoint({
  method: 'POST',
  path: '/v1/account/store-provision',
  caller: 'none',
  summary: 'Signs in with a mobile-store account, and creates its account the first time.',
  description:
    'Sets the session cookie svc_session. With a session or an installId, what that guest owns moves to the account. ' +
    'Without a store to ask: 503 `store_unconfigured`, and nothing is created.',
  body: z.object({
    token: StoreToken.meta({ description: 'The sign-in token of the store: an ID token.' }),
    installId: OptionalInstallId.meta({ description: 'The guest whose belongings move to the account.' }),
  }),
  reply: z.object({
    accountId: AccountId,
    created: z.boolean(),
    expiresAt: z.iso.datetime().meta({ description: 'When the session ends.' }),
  }),
  errors: ['store_unconfigured'],
  creates: true,
  example: `curl -s $base/v1/account/store-provision -c cookies.txt -H 'content-type: application/json' -d '{"token":"id-token-from-the-store"}'`,
  handle: () => storeUnconfigured(),
});
