import { GameId } from '../../features/catalogue/model.ts';
import { isoTime } from '../../accounts/fields.ts';
import { creation, heirsText, madeBy, revocation, rotation } from '../key-changes.ts';
import { Reason } from '../operation.ts';
import { Failure } from '../../process/command.ts';
import { KeyChangeRefused, KeyName, ServerKeyChanges, type MadeKey } from '../../server/identity/server-key-changes.ts';
import { roles, type Role } from '../../server/identity/roles.ts';
import { scopes, type Scope } from '../../server/identity/server-keys.ts';
import type { Command, CommandInput, Tool } from './command.ts';
import { durationOf } from './duration.ts';
import { loggedChange } from './operate.ts';
import { minuteOf } from './table.ts';

/** For the operators' log. */
const reason = { value: 'TEXT', summary: 'why, for other operators' };

/** How long both keys of a rotation are valid, so that there is time to give the new key to all servers. */
const OVERLAP = '7d';

const create: Command = {
  summary: 'Makes a key and shows it once.',
  role: 'admin',
  flags: {
    name: { value: 'NAME', summary: 'the holder of the key, such as "game server".', isNeeded: true },
    scopes: { value: 'LIST', summary: `scopes of the key, of ${scopes.join(',')}` },
    role: { value: 'ROLE', summary: `of an operator's key: ${roles.join(', ')}. It has the scope admin then. Default: admin` },
    game: { value: 'GAME', summary: 'the only game whose rooms and boards it reaches. Default: all' },
    expires: { value: 'TIME', summary: 'when it ends, such as 90d. Default: never' },
    reason,
  },
  changes: true,
  plan({ flags }) {
    const name = nameOf(flags['name']);
    const role = roleOf(flags['role']);
    const granted = scopesOf(flags['scopes'], role);
    const game = gameOf(flags['game']);
    const lifeMs = flags['expires'] === undefined ? undefined : durationOf('expires', flags['expires']);
    if (lifeMs === 0) throw new Failure('--expires takes a time above 0.');
    const why = whyOf(flags);
    return async (tool) => {
      const expiresAt = lifeMs === undefined ? undefined : tool.now() + lifeMs;
      const key = { name, scopes: granted, role, game, expiresAt };
      const { question, what } = creation(key);
      await tool.confirm(question);
      const change = { action: 'keys create', what, why, noted: ({ id }: MadeKey) => ({ id }) };
      const made = await refusing(loggedChange(tool, change, () => changesOf(tool).create(key)));
      return {
        text: shown(made, ''),
        json: { ...made, name, scopes: granted, role: shownRole(granted, role), game, expiresAt: isoTime(expiresAt) },
      };
    };
  },
};

const rotate: Command = {
  summary: 'Makes a key that takes over; both are valid for a while.',
  role: 'admin',
  words: ['ID'],
  flags: {
    overlap: { value: 'TIME', summary: `how long the old key stays valid. Default: ${OVERLAP}; 0m ends it at once` },
    expires: { value: 'TIME', summary: 'when the new key ends. Default: its life is as long as that of the old key' },
    reason,
  },
  changes: true,
  plan({ words: [id = ''], flags }) {
    const overlapMs = durationOf('overlap', flags['overlap'] ?? OVERLAP);
    const lifeMs = flags['expires'] === undefined ? undefined : durationOf('expires', flags['expires']);
    if (lifeMs === 0) throw new Failure('--expires takes a time above 0.');
    const why = whyOf(flags);
    return async (tool) => {
      const old = await refusing(changesOf(tool).find(id));
      const oldLifeMs = old.expiresAt === undefined ? undefined : old.expiresAt - old.createdAt;
      const life = lifeMs ?? oldLifeMs;
      const expiresAt = life === undefined ? undefined : tool.now() + life;
      const oldEndsAt = Math.min(tool.now() + overlapMs, old.expiresAt ?? Infinity);
      const { question, what } = rotation(old, oldEndsAt);
      await tool.confirm(question);
      const change = { action: 'keys rotate', what, why, noted: (key: MadeKey) => ({ id: key.id }) };
      const made = await refusing(loggedChange(tool, change, () => changesOf(tool).rotate(id, oldEndsAt, expiresAt)));
      const { name, scopes: granted, role, game } = old;
      const json = {
        ...made,
        name,
        scopes: granted,
        role,
        game,
        expiresAt: isoTime(expiresAt),
        replaces: id,
        oldEndsAt: isoTime(oldEndsAt),
      };
      return { text: shown(made, `\nThe key ${id} is valid until ${minuteOf(oldEndsAt)} UTC.`), json };
    };
  },
};

const revoke: Command = {
  summary: 'Ends a key at once, in every process.',
  role: 'admin',
  words: ['ID'],
  flags: { reason },
  changes: true,
  plan({ words: [id = ''], flags }) {
    const why = whyOf(flags);
    return async (tool) => {
      const key = await refusing(changesOf(tool).find(id));
      const isRevoked = { text: `${id} was revoked already.`, json: { id, revoked: true, wasRevoked: true } };
      if (key.state === 'revoked') return isRevoked;
      const made = await madeBy(id, await changesOf(tool).list(), tool.services);
      const { question, what } = revocation(key, made);
      await tool.confirm(question);
      const change = { action: 'keys revoke', what, why };
      const isNew = await refusing(loggedChange(tool, change, () => changesOf(tool).revoke(id)));
      const json = { id, revoked: true, wasRevoked: false, ...(made.length === 0 ? {} : { made: made.map((heir) => heir.id) }) };
      return isNew ? { text: `Revoked ${id}.${heirsText(made)}`, json } : isRevoked;
    };
  },
};

export const keyCommands = { create, rotate, revoke };

function changesOf({ scripts, now }: Tool): ServerKeyChanges {
  return new ServerKeyChanges(scripts, now);
}

function whyOf({ reason: text }: CommandInput['flags']): string {
  if (text === undefined) return '';
  const { data, error } = Reason.safeParse(text);
  if (data === undefined) throw new Failure(`--reason ${error.issues[0]!.message}.`);
  return data;
}

async function refusing<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    throw error instanceof KeyChangeRefused ? new Failure(error.message) : error;
  });
}

function nameOf(text: string | undefined): string {
  if (text === undefined) throw new Failure('keys create needs --name NAME.');
  const { data, error } = KeyName.safeParse(text);
  if (data === undefined) throw new Failure(`--name ${error.issues[0]!.message}.`);
  return data;
}

/** A role includes the scope admin, which need not be given too. */
function scopesOf(text: string | undefined, role: Role | undefined): Scope[] {
  const given = text === undefined && role !== undefined ? 'admin' : (text ?? '');
  const names = [...given.split(',').map((name) => name.trim()), ...(role === undefined ? [] : ['admin'])];
  const unknown = names.find((name) => !(scopes as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Failure(`keys create needs --scopes LIST, of ${scopes.join(',')}.`);
  return scopes.filter((scope) => names.includes(scope));
}

function roleOf(text: string | undefined): Role | undefined {
  if (text === undefined) return undefined;
  const role = roles.find((known) => known === text);
  if (role === undefined) throw new Failure(`--role takes one of ${roles.join(', ')}.`);
  return role;
}

function shownRole(granted: readonly Scope[], role: Role | undefined): Role | undefined {
  return granted.includes('admin') ? (role ?? 'admin') : undefined;
}

function gameOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const { data } = GameId.safeParse(text);
  if (data === undefined) throw new Failure('--game takes the id of a game: small letters, digits, "_" and "-".');
  return data;
}

function shown({ id, token }: MadeKey, more: string): string {
  return `Key ${id}. It is shown once, and kept nowhere:\n\n    ${token}\n${more}`.trimEnd();
}
