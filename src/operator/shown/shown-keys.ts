import type { z } from 'zod';
import type { ShownKey } from '../listed-key.ts';
import { link, state, time, type Listing } from './cells.ts';

export const serverKeys: Listing<z.output<typeof ShownKey>> = {
  title: 'Server keys',
  none: 'There are no server keys.',
  columns: {
    Id: ({ id }) => link(id, ['log'], { operator: `key:${id}` }),
    Name: ({ name }) => name,
    State: (key) => state(key.state, key.state === 'valid'),
    Scopes: ({ scopes, role = 'admin' }) =>
      scopes.map((scope) => (scope === 'admin' && role !== 'admin' ? `admin:${role}` : scope)).join(','),
    Game: ({ game }) => game,
    'Made (UTC)': ({ createdAt }) => time(createdAt),
    Ends: ({ expiresAt, revokedAt }) => time(revokedAt ?? expiresAt),
    'Last used': ({ usedAt }) => time(usedAt),
    Replaces: ({ replaces }) => replaces,
  },
};
