import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { listedSessions, parseSession } from '../../accounts/session-list.ts';
import { uncheckedOperatorFor } from '../../server/identity/caller.ts';
import { OperatorSession, operatorSession, SignedInBrowser, signedInBrowser } from './model.ts';

/** The list of an account's sessions, and a key for each session that was ended before it expired. */
export const sessionHolding = {
  name: 'sessions',
  keys: [
    {
      name: 'sessions',
      type: 'hash',
      life: 'ends',
      // The list does not affect what a session may do, but if an entry is unreadable, the owner of the account does not see the session.
      texts: { what: 'list of sessions', isRight: (text, id) => parseSession(id, text) !== undefined },
      whenMoved: 'goes',
      whenDeleted: 'goes',
    },
    { name: /out:.*/, type: 'string', life: 'ends', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  exported: {
    shape: {
      sessions: z
        .array(SignedInBrowser)
        .optional()
        .meta({ description: 'On the first page, if any are listed: as in `GET /v1/sessions`.' }),
    },
    async firstPage({ caller }, services) {
      const sessions = await listedSessions(caller, services);
      return sessions.length === 0
        ? {}
        : { sessions: sessions.map((session) => signedInBrowser(session, session.id === caller.session?.id)) };
    },
  },
  shown: {
    shape: {
      sessions: z.object({
        signOutsEverywhere: z
          .number()
          .int()
          .meta({ description: 'How often all sessions were ended together. Sessions that began ' + 'before the last time have ended.' }),
        listed: z.array(OperatorSession).meta({
          description:
            'Sessions of pairings and of sign-ins with the app store, the newest first, at most 50. A login with an installId is not ' +
            'listed.',
        }),
      }),
    },
    async show({ accountId, standing }, services) {
      const listed = await listedSessions(uncheckedOperatorFor(accountId), services);
      const newest = listed.toSorted((one, other) => other.createdAt - one.createdAt);
      return { sessions: { signOutsEverywhere: standing.generation, listed: newest.map(operatorSession) } };
    },
  },
} satisfies Holding;
