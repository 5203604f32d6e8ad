import { z } from 'zod';
import type { Services } from '../../declare.ts';
import { endpoint } from '../../declare.ts';
import { refuse, Refusal } from '../../errors.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { consoleCookie } from '../../server/identity/console-sessions.ts';
import { roles } from '../../server/identity/roles.ts';
import { operatorOf, type ServerKey } from '../../server/identity/server-keys.ts';
import { refuseWithoutKey } from '../endpoints.ts';
import { changes, type Offered, type Offers } from './offered.ts';

/** The operator who is signed in to the console. */
const SignedIn = z.object({
  /** As the log names the operator. */
  by: z.string(),
  keyId: z.string(),
  name: z.string(),
  /** Only for a person: the provider of the sign-in. */
  provider: z.string().optional(),
  role: z.enum(roles),
  game: z.string().optional(),
  /** The operations that the operator may run, with their fields. */
  operations: z.array(z.custom<Offered>()),
  /** The names of all changes, for the filter of the log. */
  actions: z.array(z.string()),
  endsAt: z.iso.datetime().optional(),
  confirmedUntil: z.iso.datetime().optional(),
});

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

type ConsoleServices = Pick<Services, 'consoleSessions' | 'consoleSignIn'>;

const confirm = endpoint({
  method: 'POST',
  path: '/console/session/confirm',
  caller: 'none',
  keyScope: 'admin',
  reach: 'own',
  takesTypedKey: true,
  summary: 'Confirms an operator who types the key once more before a change that cannot be undone.',
  emptyBody: true,
  body: z.object({}),
  reply: z.object({ confirmedUntil: z.iso.datetime() }),
  errors: ['server_only', 'bad_key', 'forbidden'],
  example: '',
  async handle({ key, meta }, { consoleSessions }: ConsoleServices) {
    if (key === undefined || key.console !== undefined) return refuseWithoutKey();
    const held = consoleSessions.heldBy(meta.cookie, meta.cookieScope.secure);
    if (held === undefined) return refuse('bad_key', { message: 'This session of the console has ended: sign in again.', isOver: true });
    if (held.operator !== key.id) return refuse('forbidden', { message: 'This is not the key with which you signed in.' });
    const confirmedUntil = await consoleSessions.confirm(key.id, held);
    return confirmedUntil instanceof Refusal ? confirmedUntil : { confirmedUntil: iso(confirmedUntil) };
  },
});

const signOut = endpoint({
  method: 'POST',
  path: '/console/session/end',
  caller: 'none',
  keyScope: 'admin',
  reach: 'own',
  summary: 'Signs an operator out of the console. The session ends for copies of the cookie too.',
  emptyBody: true,
  body: z.object({}),
  reply: z.object({}),
  errors: ['server_only'],
  example: '',
  async handle({ key, meta }, { consoleSessions }: ConsoleServices) {
    if (key?.console === undefined) return refuseWithoutKey();
    await consoleSessions.end(key.id, key.console);
    return new Reply({}, { cookies: [consoleCookie('', meta.cookieScope.secure)] });
  },
});

/** The endpoints of sessions. @param offers gives the operations that the operator of a session may run */
export function sessionEndpoints(offers: Offers) {
  const signedIn = ({ id, isPerson = false, name, role = 'admin', game }: ServerKey) => ({
    by: operatorOf({ id, isPerson }),
    keyId: id,
    name,
    role,
    ...(game === undefined ? {} : { game }),
    operations: offers.to({ role, game }),
    actions: changes.map(({ name: action }) => action),
  });

  /** The key comes as a bearer, so that the checks, limits and log lines for keys hold for a typed key too. */
  const signIn = endpoint({
    method: 'POST',
    path: '/console/session',
    caller: 'none',
    keyScope: 'admin',
    reach: 'own',
    takesTypedKey: true,
    summary: 'Signs an operator in with a key that was typed into the console.',
    emptyBody: true,
    body: z.object({}),
    reply: SignedIn,
    errors: ['server_only', 'forbidden'],
    example: '',
    async handle({ key, meta }, { consoleSessions }: ConsoleServices) {
      if (key === undefined || key.console !== undefined) return refuseWithoutKey();
      if (consoleSessions.takesPeople)
        return refuse('forbidden', { message: 'Here people sign in at a provider: a server key is for machines, and gives no session.' });
      const { secure } = meta.cookieScope;
      const before = consoleSessions.heldBy(meta.cookie, secure);
      const { token, endsAt, confirmedUntil } = await consoleSessions.start(key);
      if (before !== undefined) await consoleSessions.end(before.operator, before);
      const reply = { ...signedIn(key), endsAt: iso(endsAt), confirmedUntil: iso(confirmedUntil) };
      return new Reply(reply, { cookies: [consoleCookie(token, secure)] });
    },
  });

  const showSession = endpoint({
    method: 'GET',
    path: '/console/session',
    caller: 'none',
    keyScope: 'admin',
    reach: 'own',
    summary: 'The operator who is signed in to the console.',
    reply: SignedIn,
    errors: ['server_only'],
    example: '',
    async handle({ key }, { consoleSignIn }: ConsoleServices) {
      if (key === undefined) return refuseWithoutKey();
      const { console: session } = key;
      const person = key.isPerson === true ? await consoleSignIn?.people.find(key.id) : undefined;
      return {
        ...signedIn(key),
        ...(person === undefined ? {} : { name: person.name, provider: person.provider }),
        ...(session === undefined ? {} : { endsAt: iso(session.endsAt), confirmedUntil: iso(session.confirmedUntil) }),
      };
    },
  });

  return [signIn, showSession, confirm, signOut];
}
