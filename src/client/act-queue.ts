import { combined, type Fields } from './merge-patch.ts';
import type { Pace } from './pace.ts';
import { backoff, isTemporary } from './request.ts';
import type { ActCode, ActError, ActResult } from './room-types.ts';
import { randomText } from './storage.ts';

/** An act without an answer, or whose effect is not in the page's room yet. */
export interface Act {
  readonly action: string;
  fields: Fields;
  readonly tab: string;
  /** 0 before it is sent. */
  order: number;
  /** The seat that made the act. It also identifies the room, because codes are reused. */
  seat: string | undefined;
  /** The room's `seq` after the act. */
  seq?: number;
  /** The service may have done the act. */
  isUnclear?: boolean;
  readonly done: ((result: ActResult) => void)[];
}

/** Sends acts to the service, and calls `answered` with the answers. */
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

/** The most acts that wait or are unanswered. With states of 8 KiB they take 2 MiB. */
export const MOST_ACTS = 256;

/** The most acts under way at once. With messages of 1 KiB they are a quarter of the bytes that the service accepts at once. */
const MOST_SENT = 16;

/** The service answers each act within 3 s. After a longer silence a new connection may help. */
const SILENCE_MS = 8000;

const wholeOf: Record<string, string> = { data: 'data', state: 'state' };

export const refusedAs = (code: ActCode, message: string = code): ActResult & { ok: false } => ({
  ok: false,
  error: { code, message } as ActError,
});

export type ActQueue = ReturnType<typeof actQueue>;

/**
 * The acts of one page in one room. The service does them in the order of the calls, each once.
 *
 * The service does an act if its order is above the last order of its tab, and takes any other act for a repetition. So only one act is
 * under way, and is sent again under its order until it is answered. Acts of two kinds do not wait for each other: own data, and messages. Own
 * data then contains the changes of unanswered data before it: whichever of these acts the service does, the last one has all changes. If
 * the service refuses a message but has done a later act, the message is sent again under a new order.
 *
 * A page draws its tab at random when it loads, so no two pages give orders of one tab. The acts that an earlier page left keep their tab
 * and order, and are sent alone: even if several copies of a tab send them, each is done once.
 * @param kept acts of an earlier page
 * @param changed called when the echo changes. @param stuck called when the service does not answer
 */
export function actQueue(pace: Pace, kept: Act[], changed: () => void, stuck: () => void, refused: (error: ActError, act: Act) => void) {
  const tab = randomText().slice(0, 16);
  let waiting = kept;
  let sent: Act[] = [];
  /** Refused temporarily, while later acts were under way. */
  let again: Act[] = [];
  /** Done, but not yet in the room that the page has. */
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

  /** The room may arrive without the player before the answer does, and a repeated `leave` is refused with `not_in_room`. */
  const hasLeft = (act: Act, { code }: ActError): boolean => act.action === 'leave' && code === 'not_in_room';

  const isLoose = (act: Act): boolean => act.tab === tab && (act.action === 'data' || act.action === 'message');
  const isData = (act: Act): boolean => act.tab === tab && act.action === 'data';

  /** The fields to send an act with while others are unanswered. Undefined: the act waits for their answers. */
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

  /** Puts refused acts back into the queue. If their order is below the last one done, they get new orders. */
  const requeue = (): void => {
    const isLate = again.some((act) => act.tab === tab && act.order < lastDone);
    const staying = again.filter((act) => {
      // The service may have sent the message, and must not send it twice.
      if (isLate && act.isUnclear && act.action === 'message') return void settle(act, refusedAs('store_unavailable'));
      if (isLate) act.order = 0;
      return true;
    });
    waiting = inOrder(...staying, ...waiting);
    again = [];
  };

  /** Handles a temporary refusal. */
  const postpone = (act: Act, error: ActError): void => {
    pausedUntil = performance.now() + backoff(tries++, error);
    act.isUnclear ||= error.outcome === 'unknown';
    const later = [...sent, ...again, ...waiting].find((queued) => isData(queued) && queued.order > act.order);
    // The later act contains these changes.
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
     * Adds an act, or merges it into an act of the same kind that waits to be sent.
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
      const act = sent.find((sentAct) => sentAct.order === order);
      if (!act) return;
      sent = sent.filter((sentAct) => sentAct !== act);
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
      // The service has lost changes, and so the effects of acts that it had done.
      if (next < roomSeq) shown = [];
      roomSeq = next;
      shown = shown.filter((act) => act.seq! > next);
    },

    /** A connection is open for a seat. Unanswered acts are sent again before new ones. */
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

    /** The service refuses acts of this caller. */
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

    /** Sets the seat of acts that are added before a line is open. */
    sitsIn: (of: string): void => void (seat = of),
  };
}
