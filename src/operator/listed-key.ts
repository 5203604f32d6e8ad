import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import type { ListedKey } from '../server/identity/server-key-changes.ts';
import { roles } from '../server/identity/roles.ts';

/** A server key without its secret, as operators see it. */
export const ShownKey = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['valid', 'expired', 'revoked']),
  scopes: z.array(z.string()),
  role: z.enum(roles).optional(),
  game: z.string().optional(),
  createdAt: z.iso.datetime().optional(),
  expiresAt: z.iso.datetime().optional(),
  revokedAt: z.iso.datetime().optional(),
  usedAt: z.iso.datetime().optional(),
  replaces: z.string().optional(),
});

export function shownKey({
  id,
  name,
  state,
  scopes,
  role,
  game,
  createdAt,
  expiresAt,
  revokedAt,
  usedAt,
  replaces,
}: ListedKey): z.input<typeof ShownKey> {
  return {
    ...{ id, name, state, scopes: [...scopes], role, game },
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
    revokedAt: isoTime(revokedAt),
    usedAt: isoTime(usedAt),
    replaces,
  };
}
