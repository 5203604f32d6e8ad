import { z } from 'zod';
import { accountKey } from '../../accounts/account-keys.ts';
import { isoTime } from '../../accounts/merge-rules.ts';
import type { Holding } from '../../accounts/holdings.ts';
import { nameAuditor } from './name-auditor.ts';
import { nameFields, noteGivenName } from './model.ts';
import { read } from '../../redis/reads.ts';

const GivenName = z.object({ name: z.string(), givenAt: z.iso.datetime() });

/** The name that an operator gave an account. Other players see it in place of the name that the player chose. */
export const nameHolding = {
  name: 'given name',
  fields: [nameFields],
  // The account's fields have moved by now. If the account has a given name after the move, the index has to name the account in place of
  // the guest.
  async handOver({ guestId, accountId }, { scripts }) {
    const [name] = await read(scripts, 'HGET', accountKey(accountId), 'nameGiven');
    if (name === undefined || name === '') return false;
    await noteGivenName(accountId, name, scripts);
    await noteGivenName(guestId, '', scripts);
    return false;
  },
  async erase({ accountId }, { scripts }) {
    await noteGivenName(accountId, '', scripts);
  },
  exported: {
    shape: {
      givenName: GivenName.optional().meta({
        description: 'The name that people who run the service gave in place of the account’s own one.',
      }),
    },
    firstPage: ({ fields }) => {
      const [name = '', givenAt] = [fields['nameGiven'], isoTime(fields['nameGivenAt'])];
      return name === '' || givenAt === undefined ? {} : { givenName: { name, givenAt } };
    },
  },
  shown: {
    shape: { givenName: GivenName.extend({ by: z.string(), reason: z.string() }).optional() },
    show({ fields }) {
      const [name = '', givenAt] = [fields['nameGiven'], isoTime(fields['nameGivenAt'])];
      if (name === '' || givenAt === undefined) return {};
      return { givenName: { name, givenAt, by: fields['nameGivenBy'] ?? '', reason: fields['nameGivenReason'] ?? '' } };
    },
  },
  auditors: () => [nameAuditor],
} satisfies Holding;
