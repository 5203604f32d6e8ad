import { combined, type Fields } from './merge-patch.ts';
import type { Pace } from './pace.ts';
import { backoff, isTemporary } from './request.ts';
import type { ActCode, ActError, ActResult } from './room-types.ts';
import { randomText } from './storage.ts';

/** An act that has no answer yet, or whose effect is not yet in the room that the page has from the service. */
export interface Act {
  readonly action: string;
  fields: Fields;
  readonly tab: string;
  /** The number of the act in its tab. 0 before the act is sent. */
  order: number;
  /** The seat from which the act was made. It also identifies the room, because room codes are reused. */
  seat: string | undefined;
  /** The `seq` of the room after the act. */
  seq?: number;
  /** Whether the service may already have done the act. */
  isUnclear?: boolean;
  readonly done: ((result: ActResult) => void)[];
}

/** Sends acts to the service, over a socket or by HTTP. The answers go to `answered`. */
export interface Line {
  readonly isHttp?: true;
  send(act: Act): void;
}

/** The service's answer to an act. */
export interface Answer {
  order: number;
  seq?: number;
  replayed?: true;
  /** The receivers of a message who have no channel. */
  away?: string[];
  error?: ActError;
}

/** The most acts that wait or have no answer. With states of 8 KiB they take 2 MiB. */
export const MOST_ACTS = 256;

/**
 * The most acts that are sent and not answered. With messages of 1 KiB they are a quarter of the bytes that the service accepts at once.
 */
const MOST_SENT = 16;

/** Milliseconds without an answer after which a new connection may help. The service answers each act within 3 s. */
const SILENCE_MS = 4500;

const wholeOf: Record<string, string> = { data: 'data', state: 'state' };

export const refusedAs = (code: ActCode, message: string = code): ActResult & { ok: false } => ({
  ok: false,
  error: { code, message } as ActError,
});

export type ActQueue = ReturnType<typeof actQueue>;

/**
 * The acts of one page in one room. The service does the acts in the order of the calls, each once.
 *
 * The service does an act if its order is above the last order of its tab, and takes any other act for a repetition. So mostly only one act
 * is under way, and is sent again under its order until it is answered. Two kinds of acts are sent without waiting: changes of the player's
 * own data, and messages. A change of own data then also contains the unanswered changes before it, so the last one has all changes,
 * whichever of them the service does. If the service refuses a message for now and has done a later act meanwhile, the message gets a new
 * order before it is sent again: under its old order it would count as a repetition.
 *
 * A page draws its tab (a text) at random when it loads, so no two pages number acts of the same tab. The acts that an earlier page left
 * keep their tab and order, and are sent one at a time: even if several copies of a browser tab send them, each is done once.
 * @param kept the acts that an earlier page has not finished
 * @param changed called when the shown effect of acts changes.
 * @param stuck called when the service does not answer
 */
export function actQueue(pace: Pace, kept: Act[], changed: () => void, stuck: () => void, refused: (error: ActError, act: Act) => void) {
  const tab = randomText().slice(0, 16);
  let waiting = kept;
  let sent: Act[] = [];
  /** Acts that were refused temporarily while later acts were under way, and that are sent again. */
  let again: Act[] = [];
  /** Acts that the service has done, but whose effect is not yet in the room that the page has. */
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

  /**
   * Whether the refusal of a `leave` means that the player has left. A repeated `leave` is refused with `not_in_room` if the first one was
   * done and its answer was lost.
   */
  const hasLeft = (act: Act, { code }: ActError): boolean => act.action === 'leave' && code === 'not_in_room';

  const isLoose = (act: Act): boolean => act.tab === tab && (act.action === 'data' || act.action === 'message');
  const isData = (act: Act): boolean => act.tab === tab && act.action === 'data';

  /** The fields with which an act can be sent while other acts have no answer. Undefined: the act has to wait for the answers. */
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

  /** Puts refused acts back into the queue. If a later act was done in the meantime, they get new orders. */
  const requeue = (): void => {
    const isLate = again.some((act) => act.tab === tab && act.order < lastDone);
    const staying = again.filter((act) => {
      // The service may have sent this message already, and must not send it twice.
      if (isLate && act.isUnclear && act.action === 'message') return void settle(act, refusedAs('store_unavailable'));
      if (isLate) act.order = 0;
      return true;
    });
    waiting = inOrder(...staying, ...waiting);
    again = [];
  };

  /** Handles a temporary refusal of an act: the act is sent again later. */
  const postpone = (act: Act, error: ActError): void => {
    pausedUntil = performance.now() + backoff(tries++, error);
    act.isUnclear ||= error.outcome === 'unknown';
    const later = [...sent, ...again, ...waiting].find((queued) => isData(queued) && queued.order > act.order);
    // The later act contains the changes of the refused act, which therefore need not be sent again.
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

    /** The acts whose effect the page shows although the room from the service does not have it yet, in their order. */
    echo: (): Act[] => [...shown, ...unanswered()],

    unanswered,

    /**
     * Adds an act, or merges it into an act of the same kind that waits to be sent.
     * @typeParam Code the error codes with which the service may refuse this action
     */
    async add<Code extends ActCode>(action: string, given: Fields): Promise<ActResult<Code>> {
      // A copy, because the game may change its object before the act is sent.
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
        } else if (unanswered().length >= MOST_ACTS) return done(refusedAs('queue_full', `${MOST_ACTS} acts wait.`));
        else waiting.push({ action, fields, tab, order: 0, seat, done: [done] });
        changed();
        pump();
      }) as Promise<never>;
    },

    answered({ order, seq = roomSeq, replayed, away, error }: Answer): void {
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
        settle(act, { ok: true, seq, ...(replayed && { replayed }), ...(away && { away }) });
      } else if (isTemporary(error) && error.code !== 'internal') postpone(act, error);
      else settle(act, { ok: false, error });
      if (!sent.length) requeue();
      changed();
      pump();
    },

    /** Notes that the page has the room of this `seq`. */
    seen(next: number): void {
      // The service has lost changes, and so also the effects of acts that it had done.
      if (next < roomSeq) shown = [];
      roomSeq = next;
      shown = shown.filter((act) => act.seq! > next);
    },

    /** Takes an open connection for a seat. Acts without an answer are sent again before new ones. */
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

    /** Notes that the service refuses all acts of this caller. Undefined: it accepts them again. */
    refuse(error: ActError | undefined): void {
      refusal = error;
      if (!error) return;
      lost();
      for (const act of waiting.splice(0)) settle(act, hasLeft(act, error) ? { ok: true, seq: roomSeq } : { ok: false, error });
      clearTimeout(pausing);
      changed();
    },

    /** The acts that the next page has to finish, because this page is closed. */
    left(): Act[] {
      for (const act of waiting) act.order ||= nextOrder++;
      return unanswered();
    },

    /** Sets the seat from which acts are made before a connection is open. */
    sitsIn: (of: string): void => void (seat = of),
  };
}
