/**
 * A case of the conformance run: data that says what a client is told to do, what a scripted server answers, and what must come out. A case
 * holds JSON only, so it means the same for a client in any language. README.md explains how cases are played.
 */
export interface Case {
  /** A sentence about behaviour: `a debit without an answer is sent again under its key`. */
  readonly name: string;
  readonly kind: string;
  /** What the store has before the first start. The text `$install` of a value is the installId that the case gives. */
  readonly store?: Record<string, string>;
  readonly options?: Options;
  /** What a language must be able to do for this case. A language that cannot do it says so in `languages.ts`. */
  readonly needs?: Ability;
  readonly steps: readonly Step[];
}

/**
 * `half surrogates`: a text can have half of a surrogate pair. `chunk extensions`: the runtime's own HTTP reads chunks with extensions, which
 * no known server sends.
 */
export type Ability = 'half surrogates' | 'chunk extensions';

export interface Options {
  installId?: string;
  timeoutMs?: number;
  /** Whether the platform has WebSockets. Left out: it has. */
  sockets?: false;
  /** How the store behaves at the start. Left out: it works. */
  storage?: Storage;
  /** The wall clock at the start, in milliseconds since 1970. It runs with the virtual time. */
  wallMs?: number;
  /** What the game's `onConflict` returns. Left out: the game has none. */
  merged?: Json;
}

/** `works`, `full`: nothing can be written, `forbidden`: any access fails. */
export type Storage = 'works' | 'full' | 'forbidden';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };

/**
 * What a value must be. A value equals itself; an object has exactly these fields, or with `'...': true` more of them. A text that begins
 * with `$` is a name: `$any` is any value, `$text` any text with a character, `$number` any number; any other name stands for one text,
 * the same at each place, and different from those of other names.
 */
export type Pattern = Json;

/** Milliseconds of virtual time between the end of the step before and what is awaited. Left out: none, it comes at once. */
export type After = readonly [least: number, most: number];

/** `[status, body, headers]`. A body that is a text is sent as it is. */
export type Answer = readonly [status: number, body: Json, headers?: Record<string, string>];

interface Awaits {
  readonly after?: After;
}

export type Step =
  // What the client is told to do.
  | { readonly call: string; readonly input?: Json; readonly timeoutMs?: number; readonly as?: string }
  | { readonly abort: string }
  | { readonly tell: 'wake' | 'close' | 'discardHeld' }
  | { readonly watch: 'room' | 'pairing' | 'account' | 'board' | 'lobby'; readonly of?: Json; readonly as: string }
  | { readonly play: string; readonly as: string }
  | { readonly act: string; readonly in: string; readonly args?: readonly Json[]; readonly as: string }
  | { readonly leave: string }
  // What comes out of the client.
  | ({ readonly result: string; readonly is: Pattern } & Awaits)
  | ({ readonly event: string; readonly of?: string; readonly is: Pattern } & Awaits)
  | { readonly who: Pattern }
  | { readonly shown: string; readonly is: Pattern }
  // What the server sees and does.
  | ({
      /** Method and path with the query. */
      readonly request: string;
      readonly body?: Pattern;
      /** Headers by their names in small letters. `null`: the request does not have it. */
      readonly headers?: Record<string, Pattern>;
      /** Left out: the server does not answer, until a step `answer` names it. */
      readonly answer?: Answer;
      /** The connection breaks before the answer, or within its headers or its body. */
      readonly cut?: 'before' | 'headers' | 'body';
      /** Bytes in place of an HTTP answer. */
      readonly raw?: string;
      readonly as?: string;
    } & Awaits)
  | { readonly answer: string; readonly with?: Answer; readonly cut?: 'before' }
  | ({ readonly socket: string; readonly refuse?: Answer; readonly hold?: true; readonly as?: string } & Awaits)
  | ({ readonly frame: Pattern; readonly of: string } & Awaits)
  | { readonly send: Json; readonly of: string }
  /** Text of a frame that is no JSON, or bytes that are no frame. */
  | { readonly sendText: string; readonly of: string }
  | { readonly sendBytes: string; readonly of: string }
  | { readonly close: number; readonly of: string }
  | { readonly cutSocket: string }
  | ({ readonly closed: string } & Awaits)
  // The client's device.
  | { readonly pass: number }
  | { readonly clock: number }
  | { readonly storage: Storage | 'emptied' | 'damaged' }
  /** How many values of the store contain the text. */
  | { readonly stored: string; readonly times: number }
  /** The process of the client is killed. `start` starts another one with the same store. */
  | { readonly kill: true }
  | { readonly start: Options };

/** The steps of one kind, named after their first field. */
export type StepOf<Verb extends string> = Extract<Step, { readonly [V in Verb]: unknown }>;
