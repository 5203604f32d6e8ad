import { isIP } from 'node:net';
import { leaseLibrary } from '../../redis/lease.ts';
import { read } from '../../redis/reads.ts';
import { Parts } from '../../redis/unreadable.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { EventType } from '../events/model.ts';
import { hostOf, refusalOf, urlProblem } from './hook-url.ts';
import { hookKeys, KEPT_ATTEMPTS, MOST_HOOKS, MOST_SECRETS, newHookId, parseHook, type Attempted, type HookRecord } from './model.ts';
import { isAllowedAddress } from './allowed-addresses.ts';
import { resolvePrivate, resolvePublic, type Resolve } from './resolve-host.ts';
import { newSecret } from './signature.ts';

const changeHook = defineScript({
  file: new URL('change-hook.lua', import.meta.url),
  keys: ['hooks', 'state'],
  args: ['id', 'before', 'after', 'most', 'cursor'],
  answers: ['changed', 'conflict', 'full'],
  durable: true,
});

/** Removes a hook with all its keys. */
const removeHook = defineScript({
  name: 'webhooks/remove-hook',
  lua: `if redis.call('HDEL', hooks, id) == 0 then return {'none'} end
    redis.call('UNLINK', state, waiting, delivered, failed, asked)
    return {'removed'}`,
  keys: ['hooks', 'state', 'waiting', 'delivered', 'failed', 'asked'],
  args: ['id'],
  answers: ['removed', 'none'],
  durable: true,
});

const listHooks = defineScript({
  file: new URL('list-hooks.lua', import.meta.url),
  keys: ['hooks'],
  args: ['id'],
  answers: ['hooks'],
  library: leaseLibrary,
  readOnly: true,
});

/** Records that an operator asked to deliver an event to a hook again. */
const askAgain = defineScript({
  name: 'webhooks/ask-again',
  lua: `if redis.call('HEXISTS', hooks, id) == 0 then return {'none'} end
    if redis.call('LLEN', asked) >= tonumber(most) then return {'full'} end
    redis.call('RPUSH', asked, asking)
    return {'asked'}`,
  keys: ['hooks', 'asked'],
  args: ['id', 'asking', 'most'],
  answers: ['asked', 'none', 'full'],
  durable: true,
});

/** Sets the position in the log at which deliveries to a hook go on. The process that delivers begins there within two seconds. */
const setCursor = defineScript({
  name: 'webhooks/set-cursor',
  lua: `if redis.call('HEXISTS', hooks, id) == 0 then return {'none'} end
    redis.call('HSET', state, 'cursor', cursor)
    redis.call('HINCRBY', state, 'turn', 1)
    return {'set'}`,
  keys: ['hooks', 'state'],
  args: ['id', 'cursor'],
  answers: ['set', 'none'],
  durable: true,
});

/** At most this many events of a hook may wait in the list `asked`, until a process makes them waiting events. */
const MOST_ASKED = 1000;

/** A change is tried at most this many times. An attempt fails if another operator changed the hook meanwhile. */
const MOST_CONFLICTS = 5;

export interface ListedHook extends HookRecord {
  readonly id: string;
  /** The hook's position in the log of events. Undefined if no process has leased the hook yet. */
  readonly cursor: number | undefined;
  /** The number of accounts whose next event waits for another attempt. */
  readonly waitingAccounts: number;
  /** Whether a process has leased the hook, and so delivers its events. */
  readonly isHeld: boolean;
  /** The hook's record in Redis. */
  readonly text: string;
}

export interface HooksOptions {
  readonly scripts: ScriptRunner;
  readonly config: { readonly WEBHOOKS_PRIVATE: 'on' | 'off' };
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
  /** For tests: gives the addresses of host names. */
  readonly resolve?: Resolve;
}

/** Reads and changes the hooks in Redis. The process that delivers events to a hook notices a change within a second. */
export class Hooks {
  readonly #options: HooksOptions;
  readonly allowsPrivate: boolean;
  readonly resolve: Resolve;

  constructor(options: HooksOptions) {
    this.#options = options;
    this.allowsPrivate = options.config.WEBHOOKS_PRIVATE === 'on';
    this.resolve = options.resolve ?? (this.allowsPrivate ? resolvePrivate : resolvePublic());
  }

  /** All hooks, oldest first. A hook whose record cannot be parsed is left out, because it gets no events. */
  /** @param parts notes damaged hooks, which are left out */
  async list(parts?: Parts): Promise<ListedHook[]> {
    const hooks = await this.#read('', parts);
    return hooks.toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** @param parts notes the hook if it is damaged. It is not found then */
  async find(id: string, parts?: Parts): Promise<ListedHook | undefined> {
    return (await this.#read(id, parts))[0];
  }

  /** Reads one hook, or all. @param id '' for all hooks */
  async #read(id: string, parts?: Parts): Promise<ListedHook[]> {
    const [, ...words] = await this.#options.scripts.run(listHooks, { hooks: hookKeys.hooks }, { id });
    const hooks: ListedHook[] = [];
    for (let at = 0; at < words.length; at += 5) {
      const [of = '', text = '', cursor, waiting, held] = words.slice(at, at + 5);
      const record = parseHook(text);
      if (record === undefined) {
        parts?.note(`webhook ${of}`);
        continue;
      }
      hooks.push({
        ...record,
        id: of,
        text,
        cursor: cursor === '' ? undefined : Number(cursor),
        waitingAccounts: Number(waiting),
        isHeld: held === '1',
      });
    }
    return hooks;
  }

  /**
   * The problem of a hook's URL, as a part of a sentence. Undefined if there is none. A host name without an address is accepted, because
   * it may get one later. Each connection of a delivery checks the address again.
   */
  async problemOf(text: string): Promise<string | undefined> {
    const problem = urlProblem(text, this.allowsPrivate);
    if (problem !== undefined) return problem;
    const host = hostOf(new URL(text));
    if (isIP(host) !== 0) return undefined;
    const addresses = await this.resolve(host).catch(() => []);
    const refused = addresses.filter((address) => !isAllowedAddress(address, this.allowsPrivate));
    return refused.length === 0 || refused.length < addresses.length ? undefined : refusalOf(refused[0]!, this.allowsPrivate);
  }

  /**
   * Adds a hook.
   * @param cursor the position in the log of events at which the hook begins. Undefined: the end of the log when a process first leases the
   * hook
   * @returns undefined if MOST_HOOKS hooks exist already
   */
  async add(hook: { url: string; types?: readonly EventType[] | undefined }, cursor: number | undefined) {
    const { scripts, now } = this.#options;
    const [id, secret] = [newHookId(), newSecret()];
    const { url, types } = hook;
    const record: HookRecord = { url, ...(types === undefined ? {} : { types: [...types] }), secrets: [{ secret }], createdAt: now() };
    const args = { id, before: '', after: JSON.stringify(record), most: MOST_HOOKS, cursor: cursor ?? '' };
    const [word] = await scripts.run(changeHook, { hooks: hookKeys.hooks, state: hookKeys.state(id) }, args);
    return word === 'changed' ? { id, secret, record } : undefined;
  }

  /**
   * Makes a new secret. The service also signs with the older secrets, even those from before earlier rotations, until `oldUntil` at most,
   * in milliseconds since 1970. If there are more than MOST_SECRETS, the oldest secrets end at once.
   */
  async rotate(id: string, oldUntil: number): Promise<{ secret: string; record: HookRecord } | undefined> {
    const secret = newSecret();
    const now = this.#options.now();
    const record = await this.#change(id, (hook) => {
      const old = hook.secrets
        .map(({ until = Infinity, ...oldSecret }) => ({ ...oldSecret, until: Math.min(until, oldUntil) }))
        .filter(({ until }) => now < until);
      return { ...hook, secrets: [{ secret }, ...old].slice(0, MOST_SECRETS) };
    });
    return record && { secret, record };
  }

  /** Stops deliveries to a hook. @returns undefined if there is no such hook */
  disable(id: string): Promise<HookRecord | undefined> {
    const at = this.#options.now();
    return this.#change(id, (hook) => (hook.disabled === undefined ? { ...hook, disabled: { by: 'operator', at } } : hook));
  }

  /**
   * Ends the disabling of a hook. Deliveries go on from the hook's last position in the log.
   * @returns undefined if there is no such hook
   */
  enable(id: string): Promise<HookRecord | undefined> {
    return this.#change(id, ({ disabled: _, ...hook }) => hook as HookRecord);
  }

  /** Removes a hook. @returns false if there is no such hook */
  async remove(id: string): Promise<boolean> {
    const { hooks, state, waiting, delivered, failed, asked } = hookKeys;
    const keys = { hooks, state: state(id), waiting: waiting(id), delivered: delivered(id), failed: failed(id), asked: asked(id) };
    const [word] = await this.#options.scripts.run(removeHook, keys, { id });
    return word === 'removed';
  }

  /** The last attempts to deliver events to a hook, newest first. */
  async attempts(id: string, limit = KEPT_ATTEMPTS, parts = new Parts()): Promise<Attempted[]> {
    return (await this.#attempts(id, limit, parts)).slice(0, limit);
  }

  /** @param limit the most successful attempts, and the most failed attempts, that are read */
  async #attempts(id: string, limit: number, parts: Parts): Promise<Attempted[]> {
    const lists = [hookKeys.delivered(id), hookKeys.failed(id)];
    const name = (): string => `attempts of webhook ${id}`;
    const texts = await parts.readEach(lists, name, (list) => read(this.#options.scripts, 'LRANGE', list, 0, limit - 1));
    const all = await parts.readEach(texts.flat(), name, attemptIn);
    return all.toSorted((one, other) => other.at - one.at);
  }

  /** The last successful attempt of a hook, and the last failed one. */
  async lastOf(
    id: string,
    parts = new Parts(),
  ): Promise<{ readonly delivered: Attempted | undefined; readonly failed: Attempted | undefined }> {
    const attempts = await this.#attempts(id, 1, parts);
    const ofOutcome = (isDelivered: boolean) => attempts.find(({ outcome }) => (outcome === 'delivered') === isDelivered);
    return { delivered: ofOutcome(true), failed: ofOutcome(false) };
  }

  /**
   * Asks for one more delivery of an event, outside the order of its account. `none`: there is no such hook. `full`: too many events wait.
   */
  async askAgain(id: string, asking: { readonly event: string; readonly position: number }): Promise<'asked' | 'none' | 'full'> {
    const keys = { hooks: hookKeys.hooks, asked: hookKeys.asked(id) };
    const [word] = await this.#options.scripts.run(askAgain, keys, { id, asking: JSON.stringify(asking), most: MOST_ASKED });
    return word;
  }

  /**
   * Sets the position of a hook, so that it gets all later events of the log, including events that it already got. @returns false if there
   * is no such hook
   */
  async replay(id: string, cursor: number): Promise<boolean> {
    const keys = { hooks: hookKeys.hooks, state: hookKeys.state(id) };
    const [word] = await this.#options.scripts.run(setCursor, keys, { id, cursor });
    return word === 'set';
  }

  /** Changes the record of a hook. @returns undefined if there is no such hook. @throws Error after MOST_CONFLICTS attempts */
  async #change(id: string, changed: (hook: HookRecord) => HookRecord): Promise<HookRecord | undefined> {
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      const hook = await this.find(id);
      if (hook === undefined) return undefined;
      const record = changed(parseHook(hook.text)!);
      const args = { id, before: hook.text, after: JSON.stringify(record), most: MOST_HOOKS, cursor: '' };
      const [word] = await this.#options.scripts.run(changeHook, { hooks: hookKeys.hooks, state: hookKeys.state(id) }, args);
      if (word === 'changed') return record;
    }
    throw new Error(`other operators keep changing the hook ${id}`);
  }
}

/** @throws Error if the text is no attempt */
function attemptIn(text: string): Attempted {
  const attempt = JSON.parse(text) as Attempted;
  if (!Number.isSafeInteger(attempt.at)) throw new Error('the attempt has no time');
  return attempt;
}
