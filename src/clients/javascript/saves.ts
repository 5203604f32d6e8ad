import type { Client } from './client.ts';
import { guarded } from './guarded.ts';
import type { Credential, Owner } from './identity.ts';
import { backoff, failure, isTemporary, sleep, within } from './request.ts';
import type { CallOptions, ClientCode, CoinopError, Failure, Result } from './routes.ts';
import type { Wire } from './wire.ts';

type Loaded = Wire['GET /v1/saves/{game}/{name}']['reply'];
type SaveCode = Wire['POST /v1/saves/{game}/{name}']['code'];
type LoadCode = Wire['GET /v1/saves/{game}/{name}']['code'];

/** The name of a save in a game. */
export interface SaveName {
  game: string;
  name: string;
}

/** A save as it stands on the service, or as this device has it: then without `version`, `updatedAt` and `device`. */
export interface SavedData<Data = unknown> {
  data: Data;
  version?: number;
  updatedAt?: string;
  device?: string;
}

export type SaveResult<Data = unknown> =
  | { ok: true; version: number; updatedAt: string; data: Data }
  /** `pending`: `data` waits on this device. */
  | (Failure<SaveCode | ClientCode> & { data?: Data });
export type LoadResult<Data = unknown> = Result<
  Omit<Loaded, 'data' | 'other' | 'updatedAt'> & {
    data: Data;
    updatedAt?: string;
    /** The service does not answer: this is the save that the client has kept and will send. */
    pending?: true;
  },
  LoadCode | SaveCode
>;

export interface SavesOptions<Data = unknown> {
  /** The name of the device, which the player sees: `Ada’s tablet`. */
  device?: string;
  /**
   * Merges two saves that come from two devices, or from a guest and the account that the guest moved into. Returns the data to keep.
   * Without it this device's data stays, and what it replaces is among the last five versions.
   * @param mine what this device wants to save, or the account's save
   * @param theirs what stands on the service, or the guest's save
   */
  onConflict?: (mine: SavedData<Data>, theirs: SavedData<Data>, of: SaveName) => Data | Promise<Data>;
  /** Gets the result of every save, also of those that are sent later than their call, such as after a crash. */
  onSaved?: (of: SaveName, result: SaveResult<Data>) => void;
}

export interface Saves<Data = unknown> {
  /** Reads a save. A save that waits to be sent is sent first. */
  load(of: SaveName, options?: CallOptions): Promise<LoadResult<Data>>;
  /**
   * Keeps data as the newest save of the name, and sends it. The client sends it later if the service does not answer (`pending`), and never
   * after a newer one. Go on with the `data` of the result: after a conflict it is the merge.
   */
  save(save: SaveName & { data: Data }): Promise<SaveResult<Data>>;
  /** Sends all saves that wait. A page does that by itself when it has a network again. */
  wake(): void;
}

/** What the store keeps of a save. */
interface Kept extends SaveName {
  owner: Owner;
  /** The version on which the data is based, or the one that stands if nothing waits. 0: none. */
  version: number;
  /** The data as JSON. Undefined: nothing waits to be sent. */
  text?: string | undefined;
  /** When that version was written. */
  updatedAt?: string;
  /** Marks of the texts that were sent, and whose outcome is not known. Without merges. */
  sent: number[];
  /** The text is a merge that the game does not have yet. */
  isMerge?: boolean;
}

/** The most milliseconds for which a call of `save` waits. The client goes on sending after that. */
const CALL_MS = 15_000;

/** The most texts of unknown outcome that are remembered. */
const MOST_SENT = 16;

/** The saves of a client's player. Make one for each client: it also sends the saves that an earlier start has left. */
export function savesOf<Data = unknown>(client: Client, options: SavesOptions<Data> = {}): Saves<Data> {
  const { name: prefix, call, to, store, exclusive, identity, closed } = client.parts;
  const ofSaves = `${prefix}:save:`;
  const onSaved = guarded(options.onSaved);
  /** The last result of each save, for calls whose data a newer call has replaced. */
  const results = new Map<string, SaveResult<Data>>();
  /**
   * The version of each save that this start of the game has got or made. A new save is based on it. So a later version, such as a merge in
   * the background, is in conflict with what the game makes without it.
   */
  const known = new Map<string, number>();
  const turns = new Map<string, Promise<unknown>>();
  const changes = new Map<string, Promise<unknown>>();
  let waiting: Promise<void> | undefined;
  let tries = 0;

  const keyOf = async ({ game, name }: SaveName): Promise<[key: string, owner: Owner]> => {
    const owner = await identity.owner();
    return [`${ofSaves}${markOf(owner)}:${game}/${name}`, owner];
  };
  const read = async (key: string): Promise<Kept | undefined> => {
    try {
      return JSON.parse((await store.get(key))!) as Kept;
    } catch {
      return undefined;
    }
  };
  /** Changes what is kept under the key, after all earlier changes of it: a change that was read before another would undo the other. */
  const change = (key: string, changed: (kept: Kept | undefined) => Kept | undefined): Promise<Kept | undefined> => {
    const turn = (changes.get(key) ?? Promise.resolve()).then(async () => {
      const next = changed(await read(key));
      if (next) await store.put(key, JSON.stringify(next));
      return next;
    });
    changes.set(key, turn);
    return turn;
  };

  /** Notes a version that the game has. */
  const has = (key: string, version: number): void => {
    if (version > (known.get(key) ?? Infinity)) known.set(key, version);
  };
  /** Gives the game what waits. */
  const give = async (key: string, { text, version }: Kept): Promise<Data> => {
    has(key, version);
    await change(key, (now) => (now?.text === text ? { ...now!, isMerge: false } : now));
    return JSON.parse(text!) as Data;
  };

  /** Lets the game merge, and gives the JSON of the data to keep. */
  const merged = async (mine: SavedData<Data>, theirs: SavedData<Data>, { game, name }: SaveName): Promise<string> =>
    JSON.stringify(options.onConflict ? await options.onConflict(mine, theirs, { game, name }) : mine.data);

  /** Sends what is kept under the key once. @returns undefined: something newer is kept */
  const sendOnce = async (key: string, kept: Kept, credential: Credential): Promise<SaveResult<Data> | undefined> => {
    const { game, name, version, sent, isMerge } = kept;
    const text = kept.text!;
    const data = JSON.parse(text) as Data;
    const mark = markOf(text);
    if (!isMerge)
      await change(key, (now = kept) => ({ ...now, sent: [...now.sent.filter((other) => other !== mark), mark].slice(-MOST_SENT) }));
    const input = { game, name, data, ifVersion: version, device: options.device };
    const result = (await to('POST /v1/saves/{game}/{name}', input, credential, closed)) as SaveResult<Data>;
    // The next start of the game sends it again: its client may have begun already.
    if (closed.aborted) return failure('aborted');
    /** Notes the outcome and what there is to send, unless the game has made a newer save. @returns whether nothing waits */
    const settle = async (outcome: Partial<Kept>): Promise<boolean> => {
      const now = await change(key, (latest = kept) =>
        latest.text === text
          ? { ...latest, text: undefined, ...outcome, sent: [] }
          : result.ok && !isMerge
            ? { ...latest, version: result.version, sent: [] }
            : latest,
      );
      return now!.text === undefined;
    };
    if (result.ok) {
      if (!isMerge) has(key, result.version);
      return (await settle({ version: result.version, updatedAt: result.updatedAt })) ? { ...result, data } : undefined;
    }
    const { error } = result;
    if (error.code === 'stale_save') {
      const theirs = error as unknown as SavedData<Data> & { version: number };
      // An earlier save of this device stands, whose answer was lost. Or the save was deleted on another device: then this one begins anew.
      const isOwn = theirs.version === 0 || sent.includes(markOf(JSON.stringify(theirs.data)));
      // A newer save meets the conflict itself.
      if ((await read(key))?.text !== text) return undefined;
      const left = isOwn ? text : await merged({ data }, theirs, kept);
      await settle({ version: theirs.version, text: left, isMerge: isMerge || left !== text });
      return undefined;
    }
    if (mayPass(result)) return result;
    // A final refusal: the same data would be refused again.
    return (await settle({})) ? result : undefined;
  };

  /** Sends the save of the key, and any newer one that the game makes meanwhile, until the service has the newest or does not answer. */
  const send = async (key: string): Promise<SaveResult<Data> | undefined> => {
    for (;;) {
      const kept = await read(key);
      if (kept?.text === undefined) return results.get(key);
      if (closed.aborted) return { ...failure('aborted'), pending: true };
      const credential = await identity.credentialOf(kept.owner);
      const result: SaveResult<Data> | undefined = credential ? await sendOnce(key, kept, credential) : signInNeeded();
      if (!result) continue;
      const waits = !result.ok && mayPass(result);
      const told: SaveResult<Data> = waits ? { ...result, pending: true, data: JSON.parse(kept.text) as Data } : result;
      if (waits) retry(result);
      else tries = 0;
      results.set(key, told);
      if (options.onSaved && waits) await give(key, kept);
      if (options.onSaved && told.ok) has(key, told.version);
      onSaved({ game: kept.game, name: kept.name }, told);
      return told;
    }
  };

  /** Does `send` after all earlier ones of the key. Tabs take turns too, where the browser has locks. */
  const flush = (key: string): Promise<SaveResult<Data> | undefined> => {
    const turn = (turns.get(key) ?? Promise.resolve()).then(() => exclusive(key, () => send(key)));
    const caught = turn.catch((error: unknown) => (console.error(error), { ...failure('aborted', String(error)), pending: true as const }));
    turns.set(key, caught);
    return caught;
  };

  const flushAll = async (): Promise<void> => {
    for (const key of await store.keys(ofSaves)) await flush(key);
  };
  /** Sends all saves again after a while. */
  const retry = ({ error }: Failure): void => {
    waiting ??= sleep(backoff(tries++, error, 60_000), closed).then(() => {
      waiting = undefined;
      if (!closed.aborted) void flushAll();
    });
  };

  const saves: Saves<Data> = {
    async save({ game, name, data }) {
      const [key, owner] = await keyOf({ game, name });
      const version = known.get(key);
      known.set(key, version ?? 0);
      await change(key, (kept) => {
        // What an earlier start has sent is not part of a save that this one makes without a load.
        const sent = version === undefined ? [] : (kept?.sent ?? []);
        return { owner, game, name, sent, version: version ?? 0, text: JSON.stringify(data) };
      });
      const result = await within(CALL_MS, [], (whole) => {
        const late = new Promise<SaveResult<Data>>((resolve) => {
          whole.onabort = () => resolve({ ...failure('timeout'), pending: true });
        });
        return Promise.race([flush(key), late]);
      });
      const now = await read(key);
      // Another tab has sent it.
      if (!result) return { ok: true, version: now?.version ?? 0, updatedAt: now?.updatedAt ?? '', data };
      if (result.ok) has(key, result.version);
      return 'pending' in result && now?.text !== undefined ? { ...result, data: await give(key, now) } : result;
    },

    async load({ game, name }, more = {}) {
      const [key, owner] = await keyOf({ game, name });
      const before = known.get(key);
      if ((await read(key))?.text !== undefined) await flush(key);
      const kept = await read(key);
      const route = 'GET /v1/saves/{game}/{name}';
      const reply = (await call(route, { game, name }, more, identity.credential)) as Result<Loaded, LoadCode>;
      const isNone = !reply.ok && (reply.error as CoinopError).code === 'save_not_found';
      const isKept = kept?.text !== undefined && (reply.ok || isNone || isTemporary(reply.error));
      const version = isKept ? kept.version : reply.ok ? reply.version : isNone ? 0 : undefined;
      // The game may have made a save meanwhile, which is newer than what was loaded.
      if (version !== undefined && known.get(key) === before) known.set(key, version);
      if (isKept) return { ok: true, name, version: kept.version, data: await give(key, kept), pending: true };
      if (!reply.ok || !reply.other) return reply as LoadResult<Data>;
      const found = (await call(route, { game, name, version: reply.other.version }, more, identity.credential)) as Result<
        Loaded,
        LoadCode
      >;
      if (!found.ok) return reply as unknown as LoadResult<Data>;
      const text = await merged(reply as SavedData<Data>, found as SavedData<Data>, { game, name });
      const merge: Kept = { owner, game, name, version: reply.version, sent: [], text, isMerge: true };
      await change(key, (now) => (now?.text === undefined ? merge : now));
      const settled = await flush(key);
      if (settled?.ok) has(key, settled.version);
      return !settled || 'pending' in settled
        ? { ok: true, name, version: merge.version, data: await give(key, merge), pending: true }
        : ({ ...settled, name } as LoadResult<Data>);
    },

    wake: () => void flushAll(),
  };

  const platform = globalThis as unknown as EventTarget & { document?: EventTarget };
  if (platform.document) {
    platform.addEventListener('online', saves.wake, { signal: closed });
    platform.document.addEventListener('visibilitychange', saves.wake, { signal: closed });
  }
  saves.wake();
  return saves;
}

/**
 * Whether the same save may pass later: the service has not answered, or is away, or the player has to sign in. Only another answer of the
 * service is final.
 */
const mayPass = ({ error, status }: Failure): boolean => !status || status === 401 || isTemporary(error);

const signInNeeded = () => ({ ...failure('sign_in_required' as never), status: 401 });

/** A number of 53 bits that tells texts apart. */
function markOf(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
