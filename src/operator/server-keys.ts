import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { GameId } from '../features/catalogue/model.ts';
import { KeyChangeRefused, KeyName, ServerKeyChanges, type ListedKey, type NewKey } from '../server/identity/server-key-changes.ts';
import { KEY_ID } from '../server/identity/server-key-record.ts';
import { mayAct, roles, roleWord, type Role } from '../server/identity/roles.ts';
import { scopes, type Scope } from '../server/identity/server-keys.ts';
import { ShownKey, shownKey } from './listed-key.ts';
import { searchLog } from './log-filter.ts';
import { isChange, operation, Reason, type Operation, type OperatorServices } from './operation.ts';
import { Parts } from '../redis/unreadable.ts';
import { minute, table } from './shown/cells.ts';
import { serverKeys } from './shown/shown-keys.ts';

const DAY_MS = 86_400_000;

/** Time to give the new key to all servers. */
const OVERLAP_DAYS = 7;

const Id = z.string().regex(KEY_ID, 'Must be the id of a server key: 8 characters').meta({ example: 'ab12cd34' });

/** The tool takes hours and minutes too. It bounds the days by itself. */
const Days = z.number().positive('Must be above 0').optional();

const Made = z.object({
  id: Id,
  token: z.string().meta({ description: 'The key. Shown once.' }),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  role: z.enum(roles).optional(),
  game: z.string().optional(),
  expiresAt: z.iso.datetime().optional(),
});

const keyParts = ({ id, token }: { readonly id: string; readonly token: string }): string[] => [
  `Key ${id}. It is shown once, and kept nowhere:`,
  `    ${token}`,
];

const listKeys = operation({
  name: 'keys list',
  method: 'GET',
  path: '/console/keys',
  operationId: 'listServerKeys',
  role: 'admin',
  summary: 'All server keys, the newest first, without their secrets.',
  input: z.object({}),
  reply: z.object({ keys: z.array(ShownKey) }),
  example: '',
  shown: ({ keys }) => [table(serverKeys, keys)],
  prepare: async (_, services) => ({ reply: { keys: (await changesOf(services).list()).map(shownKey) } }),
});

const createKey = operation({
  name: 'keys create',
  method: 'POST',
  path: '/console/keys',
  operationId: 'createServerKey',
  title: 'Make a key',
  role: 'admin',
  handsOutSecret: true,
  needsNoService: true,
  summary: 'Makes a server key, and shows it once.',
  input: z.object({
    name: KeyName.meta({ description: 'The person or server that has the key. Give each a separate key.' }),
    role: z
      .enum(roles)
      .optional()
      .meta({ description: 'Of a person. A server has scopes.', typed: { initial: 'support' } }),
    scopes: z
      .array(z.enum(scopes))
      .max(scopes.length)
      .optional()
      .meta({ description: 'Of a server.', example: ['coins', 'rooms'] }),
    game: GameId.optional().meta({ description: 'The only game that the key can reach. Left out: all games.' }),
    expiresInDays: Days.meta({ description: 'When it ends. Left out: never.', typed: { unit: 'Days', flag: 'expires' } }),
    reason: Reason.optional(),
  }),
  reply: Made,
  errors: ['invalid_request', 'forbidden'],
  example: '',
  shown: keyParts,
  async prepare({ name, scopes: asked = [], role, game, expiresInDays, reason = '' }, services) {
    const granted = scopes.filter((scope) => asked.includes(scope) || (scope === 'admin' && role !== undefined));
    if (granted.length === 0) return invalid('scopes', 'A key needs a role or a scope');
    const key = { name, scopes: granted, role: role ?? (granted.includes('admin') ? 'admin' : undefined), game };
    const reach = game === undefined ? '' : ` of the game ${game}`;
    return {
      // The question must not contain the exact time, because it changes while a person reads the question.
      question: `Make the server key "${name}" for ${scopesText(granted, role)}${reach}, ${lifeText(expiresInDays, 'without an end')}?`,
      what: {
        name,
        scopes: granted.join(','),
        ...{ role, game, expiresInDays: logged(expiresInDays) },
      },
      why: reason,
      noted: ({ id }) => ({ id }),
      foreseen: await foreseenBy('name', services, (keys) => keys.checkRoom()),
      act: () => changing('name', services, (keys, now) => made(keys, { ...key, expiresAt: after(now, expiresInDays) })),
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
  needsNoService: true,
  summary: 'Makes a key that replaces another one, and shows it once. Both are valid for a while.',
  input: z.object({
    id: Id,
    overlapDays: z
      .number()
      .min(0)
      .optional()
      .meta({ description: `How long the old key stays valid. Left out: ${OVERLAP_DAYS} days.`, typed: { unit: 'Days' } }),
    expiresInDays: Days.meta({
      description: 'When the new key ends. Left out: when the old key would have ended.',
      typed: { unit: 'Days', flag: 'expires' },
    }),
    reason: Reason.optional(),
  }),
  reply: Made.extend({ replaces: Id, oldEndsAt: z.iso.datetime() }),
  errors: ['invalid_request', 'forbidden'],
  example: '',
  shown: ({ replaces, oldEndsAt, ...key }) => [...keyParts(key), `The key ${replaces} is valid until ${minute(oldEndsAt)} UTC.`],
  async prepare({ id, overlapDays = OVERLAP_DAYS, expiresInDays, reason = '' }, services) {
    const old = (await changesOf(services).list()).find((key) => key.id === id);
    if (old === undefined) return noSuchKey();
    const life = lifeText(expiresInDays, 'with the life of the old one');
    return {
      question: `Make a new key for "${old.name}" ${life}, and end the key ${id} in ${spanText(overlapDays)} or at its own end?`,
      foreseen: await foreseenBy('id', services, (keys) => keys.replaceable(id)),
      what: { id, overlapDays: logged(overlapDays), expiresInDays: logged(expiresInDays) },
      why: reason,
      noted: (heir) => ({ id: heir.id }),
      act: () =>
        changing('id', services, async (keys, now) => {
          const oldEndsAt = Math.min(after(now, overlapDays)!, old.expiresAt ?? Infinity);
          const lifeDays = expiresInDays ?? (old.expiresAt && (old.expiresAt - old.createdAt) / DAY_MS);
          const { name, scopes: granted, role, game } = old;
          const heir = await made(keys, { name, scopes: granted, role, game, expiresAt: after(now, lifeDays) }, { id, oldEndsAt });
          return { ...heir, replaces: id, oldEndsAt: isoTime(oldEndsAt)! };
        }),
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
  needsNoService: true,
  summary: 'Ends a server key at once, in every process.',
  input: z.object({ id: Id, reason: Reason.optional() }),
  reply: z.object({ id: Id, revoked: z.boolean(), wasRevoked: z.boolean(), made: z.array(z.string()).optional() }),
  errors: ['invalid_request', 'forbidden'],
  example: '',
  shown: ({ id, wasRevoked, made: heirs = [] }) => [
    wasRevoked
      ? `${id} was revoked already.`
      : `Revoked ${id}.${heirs.length === 0 ? '' : ` It has made ${heirs.join(', ')}, which stay valid.`}`,
  ],
  async prepare({ id, reason = '' }, services) {
    const keys = await changesOf(services).list();
    const key = keys.find((listed) => listed.id === id);
    if (key === undefined) return noSuchKey();
    if (key.state === 'revoked') return { reply: { id, revoked: true, wasRevoked: true } };
    const heirs = await madeBy(id, keys, services);
    return {
      question: `Revoke the server key ${id} ("${key.name}")? Servers that use it are refused at once.${heirsText(heirs)}`,
      what: { id },
      why: reason,
      act: () =>
        changing('id', services, async (changes) => ({
          ...{ id, revoked: true, wasRevoked: !(await changes.revoke(id)) },
          ...(heirs.length === 0 ? {} : { made: heirs.map((heir) => heir.id) }),
        })),
    };
  },
});

/** Operations on server keys for the tool. */
export const keyOperations: readonly Operation[] = [listKeys, createKey, rotateKey, revokeKey] as unknown as Operation[];

/** A year and a day. Only the tool can make a key without an end. */
const MOST_DAYS = 366;

const WholeDays = z.number().int().max(MOST_DAYS);

/** The fields in which the console demands more: a key that it makes has an end, and a change has a reason. */
const consoleFields = {
  expiresInDays: WholeDays.min(1).meta({
    description: `When the key ends, in days from now: 1 to ${MOST_DAYS}.`,
    example: 90,
    typed: { label: 'Ends in days', initial: '90' },
  }),
  overlapDays: WholeDays.min(0)
    .optional()
    .meta({
      description: 'When the old key ends, in days from now.',
      typed: { label: 'The old key ends in days', initial: String(OVERLAP_DAYS) },
    }),
  reason: Reason,
};

/**
 * The same operations for the console. They are not below `/v1/admin`, and need a session of the console, which begins when an operator
 * types a key. So nobody can make further keys with a leaked key, except under the limits, sessions and questions of the console.
 */
export const consoleKeyOperations: readonly Operation[] = keyOperations.map((declared) => ({
  ...declared,
  input: declared.input.extend(Object.fromEntries(Object.entries(consoleFields).filter(([name]) => name in declared.input.shape))),
  async prepare(input, services, operator) {
    if (isChange(declared) && operator.key?.console === undefined)
      return refuse('forbidden', { message: 'To make keys, sign in to the console, or use the tool.' });
    if (services.config.TWO_PERSON_COINS !== undefined && (await handsOutCoins(declared, input, services)))
      return refuse('forbidden', {
        message: 'With TWO_PERSON_COINS only the tool makes keys that can give coins. With such a key one person could give coins alone.',
      });
    return declared.prepare(input, services, operator);
  },
}));

/**
 * Whether the operation shows a key that can give coins: a key of a server with the scope `coins`, or of an operator who may correct coins.
 */
async function handsOutCoins({ name }: Operation, input: unknown, services: OperatorServices): Promise<boolean> {
  const { id, scopes: granted = [], role } = input as { readonly id?: string; readonly scopes?: readonly Scope[]; readonly role?: Role };
  const gives = (of: readonly Scope[], as: Role | undefined): boolean =>
    of.includes('coins') || mayAct(as ?? (of.includes('admin') ? 'admin' : 'viewer'), 'support');
  if (name === createKey.name) return gives(granted, role);
  if (name !== rotateKey.name) return false;
  const old = (await changesOf(services).list()).find((key) => key.id === id);
  return old !== undefined && gives(old.scopes, old.role);
}

const noSuchKey = () => invalid('id', 'There is no server key with this id');

const changesOf = ({ scripts, now }: Pick<OperatorServices, 'scripts' | 'now'>): ServerKeyChanges => new ServerKeyChanges(scripts, now);

/** The time after so many days. Undefined without days: never. */
const after = (now: number, days: number | undefined): number | undefined =>
  days === undefined ? undefined : Math.round(now + days * DAY_MS);

async function made(keys: ServerKeyChanges, key: NewKey, old?: { readonly id: string; readonly oldEndsAt: number }) {
  const { id, token } = await (old === undefined ? keys.create(key) : keys.rotate(old.id, old.oldEndsAt, key.expiresAt));
  const { name, scopes: granted, role, game, expiresAt } = key;
  return { id, token, name, scopes: [...granted], role, game, expiresAt: isoTime(expiresAt) };
}

async function changing<Reply>(
  field: string,
  services: OperatorServices,
  change: (keys: ServerKeyChanges, now: number) => Promise<Reply>,
): Promise<Reply | Refusal<'invalid_request'>> {
  try {
    return await change(changesOf(services), services.now());
  } catch (error) {
    if (!(error instanceof KeyChangeRefused)) throw error;
    const { message } = error;
    return refuse('invalid_request', { message, field, issues: [{ path: field, message }] });
  }
}

/** The refusal of a change that a check of it brings. */
async function foreseenBy(field: string, services: OperatorServices, check: (keys: ServerKeyChanges) => Promise<unknown>) {
  const checked = await changing(field, services, check);
  return checked instanceof Refusal ? checked : undefined;
}

/** The most entries of the log in which the service searches for keys that were made with a key. */
const MOST_MADE = 100;

/** The valid keys that the operator with this key has made or rotated. A thief of the key may hold them too. */
async function madeBy(id: string, keys: readonly ListedKey[], services: OperatorServices): Promise<ListedKey[]> {
  const { entries } = await searchLog({ operator: `key:${id}`, action: 'keys' }, 0, MOST_MADE, services, () => false, new Parts());
  const ids = new Set(entries.map(({ outcome }) => outcome?.['id']));
  return keys.filter((key) => key.state === 'valid' && key.id !== id && ids.has(key.id));
}

/** '' without keys, else a sentence with a blank in front. */
function heirsText(heirs: readonly ListedKey[]): string {
  const named = heirs.map(({ id, name }) => `${id} ("${name}")`).join(', ');
  return named === '' ? '' : ` It has made keys that stay valid: ${named}. If it leaked, revoke them too.`;
}

/** Scopes as text. A role other than `admin` is written after its scope: `coins, admin:support`. */
function scopesText(granted: readonly Scope[], role: Role = 'admin'): string {
  return granted.map((scope) => (scope === 'admin' ? roleWord(role) : scope)).join(', ');
}

const lifeText = (days: number | undefined, endless: string): string => (days === undefined ? endless : `for ${spanText(days)}`);

/** `90 days`; less than a day is given in minutes, such as `30 minutes`. */
const spanText = (days: number): string => (Number.isInteger(days) ? `${days} days` : `${Math.round(days * 1440)} minutes`);

/** This form is for the log: in days, a part of a day may have many digits. */
const logged = (days: number | undefined): number | undefined => (days === undefined ? undefined : Math.round(days * 1000) / 1000);
