import { compile } from '../clients/csharp.ts';
import type { Ability, After, Case, Json, Options, Pattern, Step, StepOf, Storage } from './case.ts';
import { ClientProcess, type ClientEvent, type Report } from './client-process.ts';
import { filled, misfit, type Names } from './pattern.ts';
import { answer, answerRaw, cut, ScriptedServer, type Seen, type SeenSocket } from './scripted-server.ts';

/** A language: the command of its driver, and the one that compiles it, if it is compiled. */
export interface Language {
  readonly name: string;
  readonly command: readonly string[];
  readonly build?: readonly string[];
  /** What this language cannot do. Cases that need it are not played. */
  readonly lacks?: readonly Ability[];
}

/** The cases that a language plays. */
export const playable = ({ lacks = [] }: Language, cases: readonly Case[]): readonly Case[] =>
  cases.filter(({ needs }) => !needs || !lacks.includes(needs));

/** Real milliseconds for which the counts of server and client may differ. Only a driver that hangs reaches it. */
const HANGS_MS = 60_000;

/** The time at the start of each case: 2026-01-01, a number that no client may depend on. */
const WALL_MS = 1_767_225_600_000;

/** Events that a client may give in another number: only the awaited ones count. */
const LAX = ['state', 'connection'];

/** Steps that tell neither the client nor the server anything at once. */
const PASSIVE = ['result', 'event', 'who', 'shown', 'request', 'socket', 'frame', 'closed', 'pass', 'stored'];

/** Plays cases, one after the other, with one process of a client where no case kills it. */
export class Player {
  readonly #language: Language;
  readonly #server = new ScriptedServer(() => this.#now);
  #url = '';
  #client: ClientProcess | undefined;
  /** A process that begins while the present one is used, so that a kill costs no wait. */
  #spare: ClientProcess | undefined;
  // The case that is played.
  #now = 0;
  #names: Names = new Map();
  #store = new Map<string, string>();
  #results = new Map<string, { value: unknown; at: number }>();
  /** The report of the client at rest. Undefined: something was done since, so that it may be busy. */
  #rest: Report | undefined;
  #events: ClientEvent[] = [];

  constructor(language: Language) {
    this.#language = language;
  }

  #process(): ClientProcess {
    return new ClientProcess(this.#language.command);
  }

  async close(): Promise<void> {
    await Promise.all([this.#client?.kill(), this.#spare?.kill(), this.#url && this.#server.close()]);
  }

  /** @returns what is wrong, or undefined */
  async play({ steps, options = {}, store = {} }: Case): Promise<string | undefined> {
    if (this.#url === '') {
      const { command, build } = this.#language;
      if (build) compile(command[1]!, build);
      this.#url = await this.#server.listen();
    }
    this.#now = 0;
    this.#names = new Map();
    this.#store = new Map(Object.entries(store));
    this.#events = [];
    let at = 'start';
    try {
      await this.#start(options);
      for (const [index, step] of steps.entries()) {
        at = `step ${index + 1} ${JSON.stringify(step)}`;
        await this.#step(step);
      }
      at = 'the end';
      await this.#settle();
      this.#unclaimed();
      await this.#client!.ask({ do: 'end' });
      return undefined;
    } catch (error) {
      // The process may be in any state.
      await this.#client?.kill();
      this.#client = undefined;
      return `${at}: ${(error as Error).message}`;
    }
  }

  async #start(options: Options): Promise<void> {
    this.#rest = undefined;
    this.#server.reset();
    this.#results = new Map();
    if (!this.#client) {
      this.#client = this.#spare ?? this.#process();
      this.#spare = this.#process();
    }
    this.#client.onEvent = (event, of, value) => void this.#events.push({ event, of, value, at: this.#now, isClaimed: false });
    this.#client.onStored = (key, value) => void (value === null ? this.#store.delete(key) : this.#store.set(key, value));
    const { wallMs = WALL_MS, storage = 'works', ...more } = options;
    const started = { do: 'start', url: this.#url, store: Object.fromEntries(this.#store), now: this.#now, wallMs, storage, options: more };
    await this.#client.ask(filled(started as unknown as Json, this.#names) as object);
  }

  /** Waits until the client has done all that it can do without an answer, a message or time. */
  async #settle(): Promise<Report> {
    if (this.#rest) return this.#rest;
    const until = Date.now() + HANGS_MS;
    for (;;) {
      const report = await this.#client!.ask<Report>({ do: 'settle' });
      const { counts } = this.#server;
      const differing = (Object.keys(counts) as (keyof typeof counts)[]).filter((name) => counts[name] !== report[name]);
      if (differing.length === 0) return (this.#rest = report);
      if (Date.now() > until) throw new Error(`The driver counts ${JSON.stringify(report)}, the server ${JSON.stringify(counts)}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Lets virtual time pass, from timer to timer of the client, until something is found. Fails once it cannot come any more. */
  async #until<T extends { at: number }>(find: () => T | undefined, after: After = [0, 0]): Promise<T> {
    const [least, most] = after.map((ms) => this.#now + ms) as [number, number];
    for (;;) {
      const { due } = await this.#settle();
      const found = find();
      if (found) {
        if (found.at < least) throw new Error(`It came ${least - found.at} ms too early`);
        return found;
      }
      this.#unexpected();
      if (due === null || due > most) {
        const next = due === null ? 'the client waits for nothing' : `the client waits until ${due - this.#now} ms from now`;
        throw new Error(`It does not come: ${next}. ${this.#seen()}`);
      }
      await this.#advance(due);
    }
  }

  async #advance(to: number): Promise<void> {
    this.#rest = undefined;
    this.#now = Math.max(this.#now, to);
    await this.#client!.ask({ do: 'advance', to: this.#now });
  }

  /** What came and no step has claimed, in words. */
  #seen(): string {
    const parts = [
      ...this.#server.requests.filter(({ isClaimed }) => !isClaimed).map(({ line, body }) => `request ${line} ${body}`),
      ...this.#server.sockets.filter(({ isClaimed }) => !isClaimed).map(({ path }) => `socket ${path}`),
      ...this.#server.sockets.flatMap(({ path, frames }) => frames.map(({ text }) => `frame on ${path}: ${text}`)),
      ...this.#events
        .filter(({ isClaimed, event }) => !isClaimed && !LAX.includes(event))
        .map(({ event, value }) => `event ${event} ${JSON.stringify(value)}`),
      ...[...this.#results].map(([name, { value }]) => `result of ${name}: ${JSON.stringify(value)}`),
    ];
    return parts.length === 0 ? 'Nothing else came.' : `What came: ${parts.join('; ')}`;
  }

  #unexpected(): void {
    const { requests, sockets } = this.#server;
    if (requests.some(({ isClaimed }) => !isClaimed) || sockets.some(({ isClaimed }) => !isClaimed)) throw new Error(this.#seen());
  }

  #unclaimed(): void {
    if (this.#seen() !== 'Nothing else came.') throw new Error(this.#seen());
  }

  /** Claims the first of a list, which has to fit. */
  #fits(value: unknown, pattern: Pattern | undefined): void {
    const problem = misfit(value, pattern, this.#names);
    if (problem) throw new Error(problem);
  }

  #socket(name: string): SeenSocket {
    const seen = this.#server.sockets.find((socket) => socket.as === name);
    if (!seen) throw new Error(`There is no socket ${name}`);
    return seen;
  }

  #request(name: string): Seen {
    const seen = this.#server.requests.find((request) => request.as === name);
    if (!seen) throw new Error(`There is no request ${name}`);
    return seen;
  }

  #send(command: object, as: string): void {
    // A result that comes after the end of its case belongs to no other.
    const results = this.#results;
    this.#client!.send(filled(command as Json, this.#names) as object, (value) => void results.set(as, { value, at: this.#now }));
  }

  async #step(step: Step): Promise<void> {
    // Other steps only look, or do something once what they await has come.
    if (!PASSIVE.some((verb) => verb in step)) this.#rest = undefined;
    if ('call' in step) {
      const { call, input = {}, timeoutMs, as = call } = step;
      this.#send({ do: 'call', call, input, timeoutMs, as }, as);
      await this.#settle();
    } else if ('abort' in step) await this.#client!.ask({ do: 'abort', of: step.abort });
    else if ('tell' in step) {
      await this.#client!.ask({ do: step.tell });
      await this.#settle();
    } else if ('watch' in step)
      await this.#client!.ask(filled({ do: 'watch', what: step.watch, of: step.of ?? {}, as: step.as }, this.#names));
    else if ('play' in step) await this.#client!.ask({ do: 'play', code: step.play, as: step.as });
    else if ('act' in step) {
      this.#send({ do: 'act', act: step.act, in: step.in, args: step.args ?? [] }, step.as);
      await this.#settle();
    } else if ('leave' in step) await this.#client!.ask({ do: 'leave', of: step.leave });
    else if ('result' in step) {
      const { value } = await this.#until(() => this.#results.get(step.result), step.after);
      this.#results.delete(step.result);
      this.#fits(plain(value), step.is);
    } else if ('event' in step) await this.#event(step);
    else if ('who' in step) this.#fits(await this.#client!.ask({ do: 'who' }), step.who);
    else if ('shown' in step) {
      await this.#settle();
      this.#fits(plain(await this.#client!.ask({ do: 'shown', of: step.shown })), step.is);
    } else if ('request' in step) await this.#expectRequest(step);
    else if ('answer' in step) {
      const seen = this.#request(step.answer);
      if (step.cut) cut(seen, step.cut);
      else answer(seen, filled(step.with as unknown as Json, this.#names) as never);
      await this.#settle();
    } else if ('socket' in step) await this.#expectSocket(step);
    else if ('frame' in step) await this.#expectFrame(step);
    else if ('send' in step) await this.#sendFrame(step.of, JSON.stringify(filled(step.send, this.#names)));
    else if ('sendText' in step) await this.#sendFrame(step.of, step.sendText);
    else if ('sendBytes' in step) {
      this.#socket(step.of).stream.write(Buffer.from(step.sendBytes, 'hex'));
      await this.#ended(step.of);
    } else if ('close' in step) {
      this.#socket(step.of).socket!.close(step.close);
      await this.#ended(step.of);
    } else if ('cutSocket' in step) {
      this.#socket(step.cutSocket).stream.destroy();
      await this.#ended(step.cutSocket);
    } else if ('closed' in step) {
      const socket = this.#socket(step.closed);
      await this.#until(() => (socket.endedAt === undefined ? undefined : { at: socket.endedAt }), step.after);
    } else await this.#device(step);
  }

  /** The steps of the device: time, the clock, the store, the process. */
  async #device(step: Step): Promise<void> {
    if ('pass' in step) {
      const until = this.#now + step.pass;
      for (;;) {
        const { due } = await this.#settle();
        this.#unexpected();
        if (this.#server.sockets.some(({ frames }) => frames.length > 0)) throw new Error(this.#seen());
        if (due === null || due > until) break;
        await this.#advance(due);
      }
      await this.#advance(until);
    } else if ('clock' in step) await this.#client!.ask({ do: 'clock', ms: step.clock });
    else if ('storage' in step) await this.#storage(step.storage);
    else if ('stored' in step) {
      const text = filled(step.stored, this.#names);
      const times = [...this.#store.values()].filter((value) => value.includes(text)).length;
      if (times !== step.times) throw new Error(`${times} values contain ${text}: ${JSON.stringify(Object.fromEntries(this.#store))}`);
    } else if ('kill' in step) {
      await this.#client!.kill();
      this.#client = undefined;
    } else if ('start' in step) await this.#start(step.start);
    else throw new Error('There is no such step');
  }

  async #storage(storage: Storage | 'emptied' | 'damaged'): Promise<void> {
    if (this.#client) await this.#settle();
    if (storage === 'emptied') this.#store.clear();
    else if (storage === 'damaged') for (const [key, value] of this.#store) this.#store.set(key, value.slice(0, value.length / 2));
    else return void (await this.#client?.ask({ do: 'storage', storage }));
    await this.#client?.ask({ do: 'contents', store: Object.fromEntries(this.#store) });
  }

  async #event({ event, of, is, after }: StepOf<'event'>): Promise<void> {
    const find = (): ClientEvent | undefined =>
      this.#events.find((each) => {
        if (each.isClaimed || each.event !== event || (of !== undefined && each.of !== of)) return false;
        if (!LAX.includes(event) || misfit(plain(each.value), is, new Map(this.#names)) === undefined) return true;
        each.isClaimed = true;
        return false;
      });
    const found = await this.#until(find, after);
    found.isClaimed = true;
    this.#fits(plain(found.value), is);
  }

  async #expectRequest(step: StepOf<'request'>): Promise<void> {
    const line = filled(step.request, this.#names);
    const seen = await this.#until(() => this.#server.requests.find((each) => !each.isClaimed && each.line === line), step.after);
    seen.isClaimed = true;
    seen.as = step.as ?? step.request;
    this.#rest = undefined;
    if (step.body !== undefined) this.#fits(JSON.parse(seen.body), step.body);
    for (const [name, pattern] of Object.entries(step.headers ?? {})) this.#fits(seen.headers[name] ?? null, pattern);
    if (step.cut) cut(seen, step.cut);
    else if (step.raw !== undefined) answerRaw(seen, step.raw);
    else if (step.answer) answer(seen, filled(step.answer as unknown as Json, this.#names) as never);
    // The next step may tell the client something, which must find it with this answer.
    await this.#settle();
  }

  async #expectSocket(step: StepOf<'socket'>): Promise<void> {
    const path = filled(step.socket, this.#names);
    const seen = await this.#until(() => this.#server.sockets.find((each) => !each.isClaimed && each.path === path), step.after);
    seen.isClaimed = true;
    this.#rest = undefined;
    // A later socket of the same name takes its place.
    for (const other of this.#server.sockets) if (other.as === (step.as ?? 'socket')) other.as = undefined;
    seen.as = step.as ?? 'socket';
    if (step.refuse) seen.refuse(step.refuse);
    else if (step.hold) seen.hold();
    else await seen.accept();
    await this.#settle();
  }

  async #expectFrame({ frame, of, after }: StepOf<'frame'>): Promise<void> {
    const { frames } = this.#socket(of);
    await this.#until(() => frames[0], after);
    this.#fits(JSON.parse(frames.shift()!.text), frame);
  }

  async #sendFrame(of: string, text: string): Promise<void> {
    const seen = this.#socket(of);
    seen.sent++;
    seen.socket!.send(text);
    await this.#settle();
  }

  /** Waits until the connection of a socket has ended on both sides. */
  async #ended(of: string): Promise<void> {
    const seen = this.#socket(of);
    if (seen.endedAt === undefined) await new Promise((resolve) => seen.stream.once('close', resolve));
    await this.#settle();
  }
}

/** The value without what only people read: messages of errors, and the ids of requests. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { requestId: _, error, ...rest } = value as { requestId?: string; error?: object };
  if (typeof error !== 'object') return value;
  const { message: __, ...fields } = error as { message?: string };
  return { ...rest, error: fields };
}
