import { isIP } from 'node:net';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { EventType } from '../events/model.ts';
import { hostOf, refusalOf, urlProblem } from './hook-url.ts';
import { hookKeys, KEPT_ATTEMPTS, MOST_HOOKS, MOST_SECRETS, newHookId, parseHook, type Attempted, type HookRecord } from './model.ts';
import { isReachable } from './reachable.ts';
import { resolvePrivate, resolvePublic, type Resolve } from './resolve.ts';
import { newSecret } from './signature.ts';

const changeHook = defineScript({
  file: new URL('change-hook.lua', import.meta.url),
  keys: ['hooks', 'state'],
  args: ['id', 'before', 'after', 'most', 'cursor'],
  answers: ['changed', 'conflict', 'full'],
  durable: true,
});

const removeHook = defineScript({
  file: new URL('remove-hook.lua', import.meta.url),
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
  readOnly: true,
});

const readAttempts = defineScript({
  file: new URL('read-attempts.lua', import.meta.url),
  keys: ['delivered', 'failed'],
  args: ['limit'],
  answers: ['attempts'],
  readOnly: true,
});

const askAgain = defineScript({
  file: new URL('ask-again.lua', import.meta.url),
  keys: ['hooks', 'asked'],
  args: ['id', 'asking', 'most'],
  answers: ['asked', 'none', 'full'],
  durable: true,
});

const setCursor = defineScript({
  file: new URL('set-cursor.lua', import.meta.url),
  keys: ['hooks', 'state'],
  args: ['id', 'cursor'],
  answers: ['set', 'none'],
  durable: true,
});

/** Most events that operators have asked for and that are not delivered again yet. */
const MOST_ASKED = 1000;

/** How often a change is repeated when another operator's change comes in between. */
const MOST_CONFLICTS = 5;

export interface ListedHook extends HookRecord {
  readonly id: string;
  /** The position in the log of events. Undefined: no process has leased the hook yet. */
  readonly cursor: number | undefined;
  /** Accounts whose next event waits for another attempt. */
  readonly waitingAccounts: number;
  /** Whether a process delivers its events. */
  readonly isHeld: boolean;
  /** The record in Redis. */
  readonly text: string;
}

export interface HooksOptions {
  readonly scripts: ScriptRunner;
  readonly config: { readonly WEBHOOKS_PRIVATE: 'on' | 'off' };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** For tests: the addresses of names. */
  readonly resolve?: Resolve;
}

/** Reads and changes the hooks in Redis. The process that delivers sees a change within a second. */
export class Hooks {
  readonly #options: HooksOptions;
  readonly allowsPrivate: boolean;
  readonly resolve: Resolve;

  constructor(options: HooksOptions) {
    this.#options = options;
    this.allowsPrivate = options.config.WEBHOOKS_PRIVATE === 'on';
    this.resolve = options.resolve ?? (this.allowsPrivate ? resolvePrivate : resolvePublic());
  }

  /** All hooks, oldest first. Hooks with unreadable records are left out: they get no events. */
  async list(): Promise<ListedHook[]> {
    const hooks = await this.#read('');
    return hooks.toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  async find(id: string): Promise<ListedHook | undefined> {
    return (await this.#read(id))[0];
  }

  /** @param id '': all */
  async #read(id: string): Promise<ListedHook[]> {
    const [, ...words] = await this.#options.scripts.run(listHooks, { hooks: hookKeys.hooks }, { id });
    const hooks: ListedHook[] = [];
    for (let at = 0; at < words.length; at += 5) {
      const [of = '', text = '', cursor, waiting, held] = words.slice(at, at + 5);
      const record = parseHook(text);
      if (record === undefined) continue;
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
   * The problem of a URL, as a part of a sentence. A name without an address is accepted, because it may get one. Each connection is
   * checked again.
   */
  async problemOf(text: string): Promise<string | undefined> {
    const problem = urlProblem(text, this.allowsPrivate);
    if (problem !== undefined) return problem;
    const host = hostOf(new URL(text));
    if (isIP(host) !== 0) return undefined;
    const addresses = await this.resolve(host).catch(() => []);
    const refused = addresses.filter((address) => !isReachable(address, this.allowsPrivate));
    return refused.length === 0 || refused.length < addresses.length ? undefined : refusalOf(refused[0]!, this.allowsPrivate);
  }

  /**
   * Adds a hook.
   * @param cursor the position in the log of events at which it begins. Undefined: the end of the log when a process first leases the hook
   * @returns undefined if the most hooks exist already
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

  /** Makes a new secret. The older ones, of earlier rotations too, sign until `oldUntil` at most. Of too many, the oldest end at once. */
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

  /** @returns undefined if there is no such hook */
  disable(id: string): Promise<HookRecord | undefined> {
    const at = this.#options.now();
    return this.#change(id, (hook) => (hook.disabled === undefined ? { ...hook, disabled: { by: 'operator', at } } : hook));
  }

  /** The hook goes on at its last position. */
  enable(id: string): Promise<HookRecord | undefined> {
    return this.#change(id, ({ disabled: _, ...hook }) => hook as HookRecord);
  }

  /** @returns false if there is no such hook */
  async remove(id: string): Promise<boolean> {
    const { hooks, state, waiting, delivered, failed, asked } = hookKeys;
    const keys = { hooks, state: state(id), waiting: waiting(id), delivered: delivered(id), failed: failed(id), asked: asked(id) };
    const [word] = await this.#options.scripts.run(removeHook, keys, { id });
    return word === 'removed';
  }

  /** The last attempts, the newest first. */
  async attempts(id: string, limit = KEPT_ATTEMPTS): Promise<Attempted[]> {
    return (await this.#attempts(id, limit)).slice(0, limit);
  }

  /** @param limit bounds the successful attempts and the failed attempts separately */
  async #attempts(id: string, limit: number): Promise<Attempted[]> {
    const keys = { delivered: hookKeys.delivered(id), failed: hookKeys.failed(id) };
    const [, _deliveredCount, ...texts] = await this.#options.scripts.run(readAttempts, keys, { limit });
    const all = texts.map((text) => JSON.parse(text) as Attempted);
    return all.toSorted((one, other) => other.at - one.at);
  }

  /** The last successful attempt, and the last failed one. */
  async lastOf(id: string): Promise<{ readonly delivered: Attempted | undefined; readonly failed: Attempted | undefined }> {
    const attempts = await this.#attempts(id, 1);
    const ofOutcome = (isDelivered: boolean) => attempts.find(({ outcome }) => (outcome === 'delivered') === isDelivered);
    return { delivered: ofOutcome(true), failed: ofOutcome(false) };
  }

  /** Delivers an event once more, outside the order of its account. */
  async askAgain(id: string, asking: { readonly event: string; readonly position: number }): Promise<'asked' | 'none' | 'full'> {
    const keys = { hooks: hookKeys.hooks, asked: hookKeys.asked(id) };
    const [word] = await this.#options.scripts.run(askAgain, keys, { id, asking: JSON.stringify(asking), most: MOST_ASKED });
    return word;
  }

  /** The hook gets all events of the log from this position on. @returns false if there is no such hook */
  async replay(id: string, cursor: number): Promise<boolean> {
    const keys = { hooks: hookKeys.hooks, state: hookKeys.state(id) };
    const [word] = await this.#options.scripts.run(setCursor, keys, { id, cursor });
    return word === 'set';
  }

  /** @throws Error if other changes keep coming in between */
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
