import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';

export const InstallId = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, 'Must be 8 to 128 visible ASCII characters')
  .meta({ description: 'Identifier of an app install: a bearer secret, never shown to anybody else.' });

/** Where a session may stand in for it. */
export const OptionalInstallId = InstallId.optional();

export const AccountId = z.string().meta({ description: 'The account, for its owner only.' });

/** Opens the caller's account if this is its first write. */
export const openAccount = defineScript({
  file: new URL('open.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['created', 'found'],
  caller: 'writes',
});
