import { z } from 'zod';
import { isoTime } from '../accounts/fields.ts';
import { invalid, refuse, type Refusal } from '../errors.ts';
import { GameId } from '../features/catalogue/model.ts';
import { KeyChangeRefused, KeyName, ServerKeyChanges, type ListedKey, type MadeKey } from '../server/identity/server-key-changes.ts';
import { KEY_ID } from '../server/identity/server-key-record.ts';
import { roles } from '../server/identity/roles.ts';
import { scopes } from '../server/identity/server-keys.ts';
import { creation, madeBy, revocation } from './key-changes.ts';
import { operation, Reason, type Operation, type Operator, type OperatorServices } from './operation.ts';

/**
 * Operations of the console that make, rotate and end server keys; the tool has its own commands (`terminal/server-keys.ts`). They are not
 * below `/v1/admin`, so that a leaked key cannot make further keys without the sessions, limits and questions of the console.
 */

const DAY_MS = 86_400_000;

/** A year and a day. Only the tool can make a key without an end. */
const MOST_DAYS = 366;

/** Time to give the new key to all servers. */
const OVERLAP_DAYS = 7;

const Id = z.string().regex(KEY_ID, 'Must be the id of a server key: 8 characters').meta({ example: 'ab12cd34' });
const Days = z
  .number()
  .int()
  .min(1)
  .max(MOST_DAYS)
  .meta({
    description: `When it ends, in days from now: 1 to ${MOST_DAYS}.`,
    example: 90,
    typed: { label: 'Ends in days', initial: '90' },
  });
const Made = z.object({
  id: Id,
  token: z.string().meta({ description: 'The key. Shown once.' }),
  expiresAt: z.iso.datetime(),
});

export const listKeys = operation({
  name: 'keys list',
  method: 'GET',
  path: '/console/keys',
  operationId: 'listServerKeys',
  role: 'admin',
  summary: 'All server keys, the newest first, without their secrets.',
  input: z.object({}),
  reply: z.object({
    keys: z.array(
      z.object({
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
      }),
    ),
  }),
  example: '',
  async prepare(_, services) {
    const keys = (await changesOf(services).list()).map(
      ({ id, name, state, scopes: granted, role, game, createdAt, expiresAt, revokedAt, usedAt, replaces }) => ({
        ...{ id, name, state, scopes: [...granted], role, game },
        createdAt: isoTime(createdAt),
        expiresAt: isoTime(expiresAt),
        revokedAt: isoTime(revokedAt),
        usedAt: isoTime(usedAt),
        replaces,
      }),
    );
    return { reply: { keys } };
  },
});

const createKey = operation({
  name: 'keys create',
  method: 'POST',
  path: '/console/keys',
  operationId: 'createServerKey',
  title: 'Make a key',
  role: 'admin',
  handsOutSecret: true,
  summary: 'Makes a server key, and shows it once.',
  input: z.object({
    name: KeyName.meta({ description: 'The person or server that has it. Give each a separate key.' }),
    role: z
      .enum(roles)
      .optional()
      .meta({ description: 'Of a person. A server has scopes.', typed: { initial: 'support' } }),
    scopes: z
      .array(z.enum(scopes))
      .max(scopes.length)
      .optional()
      .meta({ description: 'Of a server.', example: ['coins', 'rooms'] }),
    game: GameId.optional().meta({ description: 'The only game that it reaches. Left out: all.' }),
    expiresInDays: Days,
    reason: Reason,
  }),
  reply: Made,
  errors: ['invalid_request', 'forbidden'],
  example: '',
  async prepare({ name, scopes: asked = [], role, game, expiresInDays, reason }, services, operator) {
    const refused = notInConsole(operator);
    if (refused !== undefined) return refused;
    const granted = scopes.filter((scope) => asked.includes(scope) || (scope === 'admin' && role !== undefined));
    if (granted.length === 0) return invalid('scopes', 'A key needs a role or a scope');
    const expiresAt = services.now() + expiresInDays * DAY_MS;
    const key = { name, scopes: granted, role, game, expiresAt };
    // The question must not contain the exact time, which changes while a person reads it.
    const { question, what } = creation(key, `for ${expiresInDays} days`);
    return {
      question,
      what: { ...what, expiresInDays },
      why: reason,
      noted: ({ id }) => ({ id }),
      act: () => changing('name', async (keys) => shown(await keys.create(key), expiresAt), services),
    };
  },
});

const rotateKey = operation({
  name: 'keys rotate',
  method: 'POST',
  path: '/console/keys/{id}/rotate',
  operationId: 'rotateServerKey',
  role: 'admin',
  handsOutSecret: true,
  summary: 'Makes a key that takes over from another one, and shows it once.',
  input: z.object({
    id: Id,
    overlapDays: z
      .number()
      .int()
      .min(0)
      .max(MOST_DAYS)
      .optional()
      .meta({
        description: 'When the old key ends, in days from now.',
        typed: { label: 'The old key ends in days', initial: String(OVERLAP_DAYS) },
      }),
    expiresInDays: Days,
    reason: Reason,
  }),
  reply: Made.extend({ oldEndsAt: z.iso.datetime() }),
  errors: ['invalid_request', 'forbidden'],
  example: '',
  async prepare({ id, overlapDays = OVERLAP_DAYS, expiresInDays, reason }, services, operator) {
    const refused = notInConsole(operator);
    if (refused !== undefined) return refused;
    const old = await found(id, services);
    if (old === undefined) return noSuchKey();
    const now = services.now();
    const [expiresAt, oldEndsAt] = [now + expiresInDays * DAY_MS, Math.min(now + overlapDays * DAY_MS, old.expiresAt ?? Infinity)];
    return {
      question: `Make a new key for "${old.name}" for ${expiresInDays} days, and end the key ${id} in ${overlapDays} days or at its own end?`,
      what: { id, overlapDays, expiresInDays },
      why: reason,
      noted: (made) => ({ id: made.id }),
      act: () =>
        changing(
          'id',
          async (keys) => ({ ...shown(await keys.rotate(id, oldEndsAt, expiresAt), expiresAt), oldEndsAt: isoTime(oldEndsAt)! }),
          services,
        ),
    };
  },
});

const revokeKey = operation({
  name: 'keys revoke',
  method: 'POST',
  path: '/console/keys/{id}/revoke',
  operationId: 'revokeServerKey',
  role: 'admin',
  cannotBeUndone: true,
  summary: 'Ends a server key at once, in every process.',
  input: z.object({ id: Id, reason: Reason }),
  reply: z.object({ id: Id, wasRevoked: z.boolean() }),
  errors: ['invalid_request', 'forbidden'],
  example: '',
  async prepare({ id, reason }, services, operator) {
    const refused = notInConsole(operator);
    if (refused !== undefined) return refused;
    const keys = await changesOf(services).list();
    const key = keys.find((listed) => listed.id === id);
    if (key === undefined) return noSuchKey();
    if (key.state === 'revoked') return { reply: { id, wasRevoked: true } };
    return {
      ...revocation(key, await madeBy(id, keys, services)),
      why: reason,
      act: () => changing('id', async (changes) => ({ id, wasRevoked: !(await changes.revoke(id)) }), services),
    };
  },
});

/** Operations that only the console has by HTTP. */
export const keyOperations: readonly Operation[] = [listKeys, createKey, rotateKey, revokeKey] as unknown as Operation[];

/** Requires a session of the console: it was opened by typing a key, and its changes are confirmed. */
function notInConsole({ key }: Operator): Refusal<'forbidden'> | undefined {
  return key?.console === undefined
    ? refuse('forbidden', { message: 'Keys are made in the console, signed in, or by the tool.' })
    : undefined;
}

const noSuchKey = () => invalid('id', 'There is no server key with this id');

const changesOf = ({ scripts, now }: Pick<OperatorServices, 'scripts' | 'now'>): ServerKeyChanges => new ServerKeyChanges(scripts, now);

async function found(id: string, services: OperatorServices): Promise<ListedKey | undefined> {
  return (await changesOf(services).list()).find((key) => key.id === id);
}

function shown({ id, token }: MadeKey, expiresAt: number): z.input<typeof Made> {
  return { id, token, expiresAt: isoTime(expiresAt)! };
}

async function changing<Reply>(
  field: string,
  change: (keys: ServerKeyChanges) => Promise<Reply>,
  services: OperatorServices,
): Promise<Reply | Refusal<'invalid_request'>> {
  try {
    return await change(changesOf(services));
  } catch (error) {
    if (!(error instanceof KeyChangeRefused)) throw error;
    return invalid(field, error.message.replace(/\.$/, ''));
  }
}
