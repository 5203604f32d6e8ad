import { combined, type Fields } from './merge-patch.ts';
import type { Pace } from './pace.ts';
import { backoff, isTemporary } from './request.ts';
import type { ActCode, ActError, ActResult } from './room-types.ts';
import { randomText } from './store.ts';

/** An act that has no answer yet, or whose effect has not come back yet. */
export interface Act {
  readonly action: string;
  fields: Fields;
  readonly tab: string;
  /** 0 before it is sent. */
  order: number;
  /** The seat that it was made for, in one room of the code. Codes are given again. */
  seat: string | undefined;
  /** The room's `seq` after it. */
  seq?: number;
  /** The service may have done it. */
  isUnclear?: boolean;
  readonly done: ((result: ActResult) => void)[];
}

/** Carries acts to the service, and answers by `answered`. */
export interface Line {
  readonly isHttp?: true;
  send(act: Act): void;
}

/** The answer to an act. */
export interface Answer {
  order: number;
  seq?: number;
  replayed?: true;
  error?: ActError;
}

/** Acts that wait or are unanswered. With states of 8 KiB they are 2 MiB. */
export const MOST_ACTS = 256;

/** Acts that are under way at once. With messages of 1 KiB they are a quarter of what the service takes at once. */
const MOST_SENT = 16;

/** The service answers each act within 3 s. After a longer silence a new connection may work. */
const SILENCE_MS = 8000;

const wholeOf: Record<string, string> = { data: 'data', state: 'state' };

export const refusedAs = (code: ActCode, message: string = code): ActResult & { ok: false } => ({
  ok: false,
  error: { code, message } as ActError,
});

export type ActQueue = ReturnType<typeof actQueue>;

/**
 * The acts of one page in one room. They are done in the order of the calls, each once.
 *
 * The service does an act whose order is above the last one of its tab, and takes every other one for a repetition. So an act travels
 * alone, and is sent again under its order until it is answered. Two kinds are not worth a round trip each: own data, and messages. While
 * they are unanswered, more of them follow. Own data then carries what the unanswered data before it changes: whichever of them is
 * done, the last one has it all. A message that was refused after a later one was done is sent after it.
 *
 * A page draws its tab when it loads. The acts that an earlier page left keep their tab and order, and travel alone: however many copies
 * of a tab send them, each is done once. No two pages ever draw orders of one tab.
 * @param kept acts of an earlier page
 * @param changed called when the echo changes. @param stuck called when the service does not answer
 */
export function actQueue(pace: Pace, kept: Act[], changed: () => void, stuck: () => void, refused: (error: ActError, act: Act) => void) {
  const tab = randomText().slice(0, 16);
  let waiting = kept;
  let sent: Act[] = [];
  /** Refused for now, while later acts were under way. */
  let again: Act[] = [];
  /** Done, and not yet in the room that the page has. */
  let shown: Act[] = [];
  let nextOrder = 1;
  let lastDone = 0;
  let lastData = 0;
  let roomSeq = 0;
  let line: Line | undefined;
  let seat: string | undefined;
  let refusal: ActError | undefined;
  let tries = 0;
  let pausedUntil = 0;
  let pausing: ReturnType<typeof setTimeout> | undefined;
  let listening: ReturnType<typeof setTimeout> | undefined;

  const settle = (act: Act, result: ActResult): void => {
    if (!result.ok) refused(result.error, act);
    for (const done of act.done) done(result);
  };

  /** The room without the player may come before the answer, and a seat that was left answers no repetition. */
  const hasLeft = (act: Act, { code }: ActError): boolean => act.action === 'leave' && code === 'not_in_room';

  const isLoose = (act: Act): boolean => act.tab === tab && (act.action === 'data' || act.action === 'message');
  const isData = (act: Act): boolean => act.tab === tab && act.action === 'data';

  /** What an act is sent with while others are unanswered. Undefined: it waits for their answers. */
  const following = (act: Act): Fields | undefined => {
    if (line!.isHttp || ![act, ...sent].every(isLoose)) return undefined;
    const before = isData(act) && sent.filter(isData).pop();
    return before ? combined(before.fields, act.fields, 'data') : act.fields;
  };

  const listen = (): void => {
    clearTimeout(listening);
    if (sent.length && !line?.isHttp) listening = setTimeout(stuck, SILENCE_MS);
  };

  const pump = (): void => {
    clearTimeout(pausing);
    while (line && waiting.length && !again.length && sent.length < MOST_SENT) {
      const act = waiting[0]!;
      const fields = sent.length ? following(act) : act.fields;
      if (!fields) return;
      const pauseMs = pausedUntil - performance.now();
      const waitMs = pauseMs > 0 ? pauseMs : pace(act.action);
      if (waitMs > 0) {
        pausing = setTimeout(pump, waitMs);
        return;
      }
      waiting.shift();
      act.fields = fields;
      act.order ||= nextOrder++;
      sent.push(act);
      listen();
      line.send(act);
    }
  };

  const byOrder = ({ tab: of, order }: Act): number => (of === tab ? order || Number.MAX_SAFE_INTEGER : 0);
  const inOrder = (...acts: Act[]): Act[] => acts.sort((one, other) => byOrder(one) - byOrder(other));
  const unanswered = (): Act[] => inOrder(...sent, ...again, ...waiting);

  /** Puts acts back to their places. Those that come too late for their order get a new one. */
  const requeue = (): void => {
    const isLate = again.some((act) => act.tab === tab && act.order < lastDone);
    const staying = again.filter((act) => {
      // It may have been said already, and nobody says it twice.
      if (isLate && act.isUnclear && act.action === 'message') return void settle(act, refusedAs('store_unavailable'));
      if (isLate) act.order = 0;
      return true;
    });
    waiting = inOrder(...staying, ...waiting);
    again = [];
  };

  /** The service could not do it now. */
  const postpone = (act: Act, error: ActError): void => {
    pausedUntil = performance.now() + backoff(tries++, error);
    act.isUnclear ||= error.outcome === 'unknown';
    const later = [...sent, ...again, ...waiting].find((each) => isData(each) && each.order > act.order);
    // The later one carries it.
    if (isData(act) && later) later.done.push(...act.done);
    else if (isData(act) && lastData > act.order) settle(act, { ok: true, seq: roomSeq });
    else again.push(act);
  };

  const lost = (): void => {
    line = undefined;
    waiting = [...sent, ...waiting];
    sent = [];
    requeue();
    listen();
  };

  return {
    tab,

    /** The acts whose effect the page shows before the room has it, in their order. */
    echo: (): Act[] => [...shown, ...unanswered()],

    unanswered,

    /**
     * Adds an act. An act of the same kind that waits to be sent takes it in.
     * @typeParam Code the codes with which the service may refuse this action
     */
    async add<Code extends ActCode>(action: string, given: Fields): Promise<ActResult<Code>> {
      // The game may change its object before it is sent.
      const fields = JSON.parse(JSON.stringify(given)) as Fields;
      return new Promise<ActResult>((done) => {
        if (refusal) return done({ ok: false, error: refusal });
        const last = waiting[waiting.length - 1];
        const whole = wholeOf[action];
        const isPlain = last && whole && !last.order && last.action === action && !('ifStateSeq' in { ...last.fields, ...fields });
        const both = isPlain && combined(last.fields, fields, whole);
        if (both) {
          last.fields = both;
          last.done.push(done);
        } else if (unanswered().length >= MOST_ACTS) return done(refusedAs('queue_full'));
        else waiting.push({ action, fields, tab, order: 0, seat, done: [done] });
        changed();
        pump();
      }) as Promise<never>;
    },

    answered({ order, seq = roomSeq, replayed, error }: Answer): void {
      const act = sent.find((each) => each.order === order);
      if (!act) return;
      sent = sent.filter((each) => each !== act);
      listen();
      if (!error || hasLeft(act, error)) {
        tries = 0;
        if (act.tab === tab) lastDone = Math.max(lastDone, order);
        if (isData(act)) lastData = Math.max(lastData, order);
        act.seq = seq;
        if (seq > roomSeq) shown.push(act);
        settle(act, { ok: true, seq, ...(replayed && { replayed }) });
      } else if (isTemporary(error) && error.code !== 'internal') postpone(act, error);
      else settle(act, { ok: false, error });
      if (!sent.length) requeue();
      changed();
      pump();
    },

    /** The page has the room of this `seq`. */
    seen(next: number): void {
      // The service lost changes, and with them what it had done.
      if (next < roomSeq) shown = [];
      roomSeq = next;
      shown = shown.filter((act) => act.seq! > next);
    },

    /** A line is open for a seat. What is unanswered is sent again, before anything new. */
    open(next: Line, of: string | undefined): void {
      if (line) lost();
      refusal = undefined;
      line = next;
      seat = of ?? seat;
      const foreign = waiting.filter((act) => act.seat && seat && act.seat !== seat);
      waiting = waiting.filter((act) => !foreign.includes(act));
      for (const act of foreign) settle(act, refusedAs('not_in_room', 'It was made for another seat.'));
      for (const act of waiting) act.seat = seat;
      if (foreign.length) changed();
      pump();
    },

    lost,

    /** The service does not take acts of this caller. */
    refuse(error: ActError | undefined): void {
      refusal = error;
      if (!error) return;
      lost();
      for (const act of waiting.splice(0)) settle(act, hasLeft(act, error) ? { ok: true, seq: roomSeq } : { ok: false, error });
      clearTimeout(pausing);
      changed();
    },

    /** The acts that the next page has to finish. */
    left(): Act[] {
      for (const act of waiting) act.order ||= nextOrder++;
      return unanswered();
    },

    /** The seat of the acts that come before a line is open. */
    sitsIn: (of: string): void => void (seat = of),
  };
}
