import { z } from 'zod';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { rateLimited, refuse, Refusal } from '../../errors.ts';
import { redisFailure } from '../../redis/script-runner.ts';
import { invalidBearer, redisUnavailable } from '../../server/http/error-answer.ts';
import { check } from '../../server/http/request-data.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { refuseBadKey } from '../../server/identity/key-check.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import type { ActMessages, ChannelSocket } from '../../server/live/channel.ts';
import { FRAMES_PER_SECOND } from '../../server/live/frame-limits.ts';
import type { Services } from '../../declare.ts';
import { actFields, actionNames, fieldsShapeOf, isAction, type ActBody } from './actions.ts';
import { Order } from './model.ts';
import type { Done } from './room-acts.ts';

/** The fields of an act on a channel, besides type, order and action. They are the fields of acts over HTTP. */
const { name: _, order: __, ...fields } = actFields;

/** By action the schema of its fields. To check an act against the fields of all actions would take three times as long. */
const shapes = new Map(actionNames.map((name) => [name, fieldsShapeOf(name)]));

/** The schema of the message `act` on a channel, for the API description. */
export const ActMessage = z.object({
  type: z.literal('act'),
  order: Order,
  action: z.string().meta({ description: 'Any action of `POST /v1/rooms/{code}/{action}` but `join`.', example: 'data' }),
  ...fields,
});

/**
 * Finds the order in the text of an act that was refused before it was parsed. Only members with plain texts may precede the order (type,
 * action, tab), because the act's data may have a member `order` too.
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

/** The player or server for whom a channel was welcomed after its `hello`. */
export type Welcomed =
  | {
      readonly by: Caller;
      readonly playerId: string;
      readonly tab: string | undefined;
      /** The name of the seat's budget of acts (`budgetOf`). */
      readonly budget: string;
    }
  | { readonly by: ServerKey; readonly playerId: 'server'; readonly tab: string | undefined };

export type ActServices = Pick<Services, 'roomActs' | 'seatBudgets' | 'actCounts' | 'serverKeys' | 'log'>;

/** Performs an act that came on a channel, and sends the `acted` that answers the act. */
export async function answerAct(
  socket: ChannelSocket,
  welcomed: Welcomed | undefined,
  message: { readonly order: number; readonly action: string },
  services: ActServices,
): Promise<void> {
  const { order, action } = message;
  try {
    const act = (): Promise<Done> => perform(socket, welcomed, message, services);
    // Only known actions are counted: an unknown action is any text of a client, and must not become a label of a metric.
    const { seq, isReplayed } = await (isAction(action) ? services.actCounts.counted(action, 'channel', act) : act());
    socket.sendWithPush(`{"type":"acted","order":${order},"seq":${seq}${isReplayed ? ',"replayed":true' : ''}}`);
  } catch (error) {
    socket.send({ type: 'acted', order, error: errorOf(refusalOf(error, services)) });
  }
}

async function perform(
  { id: code, address }: ChannelSocket,
  welcomed: Welcomed | undefined,
  message: { readonly order: number; readonly action: string; readonly tab?: string },
  { roomActs, seatBudgets, serverKeys }: ActServices,
): Promise<Done> {
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
  return roomActs.perform({ code, action, body, by, seatId: playerId === 'server' ? '' : playerId, isWhole: false, address });
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
