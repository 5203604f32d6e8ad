import { z } from 'zod';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { rateLimited, refuse, Refusal } from '../../errors.ts';
import { redisFailure } from '../../redis/script-runner.ts';
import { invalidBearer, redisUnavailable } from '../../server/http/error-answer.ts';
import { check } from '../../server/http/request-data.ts';
import { refuseBadKey } from '../../server/identity/key-check.ts';
import type { ActMessages, ChannelSocket } from '../../server/live/channel.ts';
import { FRAMES_PER_SECOND } from '../../server/live/frame-limits.ts';
import type { Services } from '../../declare.ts';
import { actFields, actionNames, fieldsShapeOf, isAction, type ActBody } from './actions.ts';
import { awayText, Order } from './model.ts';
import { sendPart, sendPrivatePart, type ConnectedPlayer } from './private-part.ts';
import type { Act, Done } from './room-acts.ts';

/** The fields of an act on a channel, besides type, order and action. Acts over a socket have the same fields as acts over HTTP. */
const { name: _, order: __, ...fields } = actFields;

/** For each action, the schema of its fields. It would take three times as long to check an act against the fields of all actions. */
const shapes = new Map(actionNames.map((name) => [name, fieldsShapeOf(name)]));

/** The schema of the message `act` on a channel, for the API description. */
export const ActMessage = z.object({
  type: z.literal('act'),
  order: Order,
  action: z.string().meta({ description: 'Any action of `POST /v1/rooms/{code}/{action}` but `join`.', example: 'data' }),
  ...fields,
});

/**
 * Finds the order in the text of an act that was refused before it was parsed. Only members with plain texts (type, action, tab) may come
 * before the order, because the act's data may also have a member `order`.
 */
const ORDER = /^\s*\{\s*(?:"\w+"\s*:\s*"[^"\\]*"\s*,\s*)*"order"\s*:\s*(\d{1,16})\s*[,}]/;

export const roomActMessages: ActMessages = {
  type: 'act',
  lacks({ order, action }) {
    if (!Number.isSafeInteger(order) || (order as number) < 1) return 'order: Must be a whole number above 0';
    return typeof action === 'string' ? undefined : 'action: Must be a text';
  },
  framesPerSecond: FRAMES_PER_SECOND,
  refused(head, refusal) {
    const [, order] = ORDER.exec(head) ?? [];
    return order === undefined
      ? { type: 'error', error: errorOf(refusal) }
      : { type: 'acted', order: Number(order), error: errorOf(refusal) };
  },
};

export type ActServices = Pick<Services, 'roomActs' | 'seatBudgets' | 'actCounts' | 'serverKeys' | 'scripts' | 'log'>;

interface SentAct {
  readonly order: number;
  readonly action: string;
  readonly tab?: string;
}

/**
 * Performs an act that came on a channel, and answers it with `acted`. The answer is sent after the state and the private part that result
 * from the act, so that the player does not act again on an older state. The action `message` changes no state, so it is answered at once.
 */
export async function answerAct(socket: ChannelSocket<ConnectedPlayer>, message: SentAct, services: ActServices): Promise<void> {
  const { order, action } = message;
  let body: ActBody = {};
  try {
    const act = (): Promise<Done> => {
      const checked = checkedAct(socket, message, services);
      body = checked.body;
      return services.roomActs.perform(checked);
    };
    // Only known actions are counted, because an unknown action may be any text from a client, which must not become a label of a metric.
    const done = await (isAction(action) ? services.actCounts.counted(action, 'channel', act) : act());
    const { seq, isReplayed, away } = done;
    if (action === 'private') await sendDealt(socket, done, body, services);
    const acted = `{"type":"acted","order":${order},"seq":${seq}${isReplayed ? ',"replayed":true' : ''}${awayText(away)}}`;
    socket.sendAfter(action === 'message' ? 0 : seq, acted);
  } catch (error) {
    socket.send({ type: 'acted', order, error: errorOf(refusalOf(error, services)) });
  }
}

/**
 * Sends the player who performed `private` the player's own private part. The part is in the act, so it is read from Redis only if the act
 * may have been done before, or if another tab has acted.
 */
async function sendDealt(socket: ChannelSocket<ConnectedPlayer>, done: Done, body: ActBody, services: ActServices): Promise<void> {
  const { welcomed } = socket.memory;
  if (welcomed === undefined || welcomed.playerId === 'server') return;
  const text = body.seats?.[welcomed.playerId];
  if (text === undefined && !done.isReplayed) return;
  const isKnown = text !== undefined && !done.isReplayed && done.you.playerId === welcomed.playerId && body.tab === welcomed.tab;
  if (isKnown) sendPart(socket, { seq: done.seq, text }, body.order);
  else await sendPrivatePart(socket, services);
}

/** The act of a message. @throws Refusal if it may not be performed */
function checkedAct(
  { id: code, address, memory: { welcomed } }: ChannelSocket<ConnectedPlayer>,
  message: SentAct,
  { seatBudgets, serverKeys }: ActServices,
): Act {
  if (welcomed === undefined) throw refuse('not_in_room', { message: 'Send hello first, and act after its welcome.' });
  const { by, playerId } = welcomed;
  if (!('budget' in welcomed)) {
    const ended = serverKeys.problemOf(welcomed.by);
    if (ended !== undefined) throw refuseBadKey(ended);
  } else {
    const waitMs = seatBudgets.chargeAct(welcomed.budget);
    if (waitMs > 0) throw rateLimited(waitMs, 'Too many acts from this seat.');
  }
  const { order, action, tab = welcomed.tab } = message;
  if (!isAction(action) || action === 'join') throw refuse('unknown_action', { field: 'action' });
  if (tab === undefined) throw refuse('invalid_request', { message: 'tab: Is needed, in this act or in hello', field: 'tab' });
  const body = { ...(check(shapes.get(action), message) as Omit<ActBody, 'order'>), order, tab };
  return { code, action, body, by, seatId: playerId === 'server' ? '' : playerId, isWhole: false, address };
}

function refusalOf(error: unknown, { log }: Pick<Services, 'log'>): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof SessionEnded) return invalidBearer();
  const outcome = redisFailure(error);
  if (outcome !== undefined) return redisUnavailable(outcome === 'unknown', error);
  log.error({ err: error }, 'an act over a channel failed');
  return refuse('internal', {}, error);
}

function errorOf(refusal: Refusal): object {
  return { code: refusal.code, message: refusal.message, ...refusal.details };
}
