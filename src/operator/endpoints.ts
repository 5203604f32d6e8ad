import { z } from 'zod';
import { refuse, type ErrorCode, type Refusal } from '../errors.ts';
import type { Call, Endpoint } from '../server/http/endpoint.ts';
import { showEvents } from './show-events.ts';
import { adjust } from './adjust.ts';
import { ban, unban } from './ban.ts';
import { dropArchive, listBoard, removeEntry, resetBoard } from './boards.ts';
import { deleteAccount } from './delete.ts';
import { namesIn } from './fields.ts';
import { give, takeBack } from './given-access.ts';
import { grantMany } from './grant-many.ts';
import { kick, pardon } from './kick.ts';
import { listAccounts } from './list-accounts.ts';
import { listRooms } from './list-rooms.ts';
import { exportLog, listLog } from './log.ts';
import { ShownLogEntry } from './log-entry.ts';
import { isChange, perform, type Confirm, type Operation, type Operator, type OperatorServices } from './operation.ts';
import { confirmedIn } from './confirmation.ts';
import { operatorOf, type ServerKey } from '../server/identity/server-keys.ts';
import { exportNumbers, listNumbers } from './numbers.ts';
import { listStuckPurchases, lookAtPurchase, movePurchase, showPurchase } from './purchases.ts';
import { dropNote, note } from './notes.ts';
import { rename, unname } from './rename.ts';
import { endRoom, showRoom } from './rooms.ts';
import { bringBackSave } from './saves.ts';
import { explain, show, showHistory } from './show-account.ts';
import { listSeasons } from './seasons.ts';
import { find } from './find-account.ts';
import { restartTrial, restoreTrial } from './trials.ts';
import { removeSignIn } from './remove-sign-in.ts';
import { takeBack as takeBackGrant } from './take-back-grant.ts';
import { endSession, signOut } from './sign-out.ts';
import { showTimeline } from './timeline.ts';
import { listTodo } from './todo.ts';
import { topList } from './top-accounts.ts';
import { unreadableField } from './unreadable.ts';
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  repeatDelivery,
  repeatFailed,
  replayWebhook,
  rotateWebhook,
  showWebhook,
} from './webhooks.ts';

/** All operations of the tool and of the endpoints. */
export const operations: readonly Operation[] = [
  find,
  listAccounts,
  show,
  showHistory,
  showEvents,
  showTimeline,
  explain,
  adjust,
  grantMany,
  takeBackGrant,
  signOut,
  endSession,
  removeSignIn,
  ban,
  unban,
  give,
  takeBack,
  rename,
  unname,
  note,
  dropNote,
  restartTrial,
  restoreTrial,
  deleteAccount,
  bringBackSave,
  listBoard,
  listSeasons,
  removeEntry,
  resetBoard,
  dropArchive,
  showPurchase,
  listStuckPurchases,
  lookAtPurchase,
  movePurchase,
  listRooms,
  showRoom,
  endRoom,
  kick,
  pardon,
  listWebhooks,
  showWebhook,
  addWebhook,
  rotateWebhook,
  disableWebhook,
  enableWebhook,
  removeWebhook,
  listDeliveries,
  repeatDelivery,
  repeatFailed,
  replayWebhook,
  listTodo,
  listNumbers,
  topList,
  exportNumbers,
  listLog,
  exportLog,
] as unknown as Operation[];

const Logged = ShownLogEntry.optional().meta({ description: "The entry of the operators' log. Left out: nothing was changed." });

/** Searching a board with a million players takes some seconds. */
const DEADLINE_MS = 20_000;

/** The endpoints below `/v1/admin`, which exist with ADMIN_API=on only. Only the tool and the console make server keys. */
export const operatorApi: readonly Endpoint<OperatorServices>[] = operations.map(endpointOf);

export function endpointOf(declared: Operation): Endpoint<OperatorServices> {
  const { method, path, operationId, summary, description = '', role, reach, input, reply, example, keyedBodyBytes } = declared;
  const inPath = namesIn(path);
  const isInPath = (name: string): boolean => inPath.includes(name);
  const [params, rest] = [fieldsOf(input, isInPath), fieldsOf(input, (name) => !isInPath(name))];
  const errors: readonly ErrorCode[] = ['server_only', ...(declared.errors ?? [])];
  return {
    method,
    path,
    operationId,
    caller: 'none',
    keyScope: 'admin',
    ...(reach === undefined ? {} : { reach }),
    summary,
    description: `${description} Needs the role \`${role}\`${role === 'admin' ? '' : ' or a higher one'}.`.trim(),
    ...(inPath.length === 0 ? {} : { params }),
    ...(method === 'GET' ? { query: rest } : { body: rest }),
    reply: reply.extend({ ...(isChange(declared) ? {} : unreadableField), ...('reason' in input.shape ? { logged: Logged } : {}) }),
    errors,
    example,
    deadlineMs: DEADLINE_MS,
    ...(declared.costly === true ? { costly: true } : {}),
    ...(keyedBodyBytes === undefined ? {} : { keyedBodyBytes }),
    handle(call, services) {
      const {
        params: ofPath,
        query,
        body,
        key,
        meta,
      } = call as unknown as Call<object | undefined, object | undefined, object | undefined, undefined>;
      if (key === undefined) return refuseWithoutKey();
      const given = { ...ofPath, ...query, ...body };
      const confirm = key.console && confirmedIn(key.console, key.isPerson === true, declared, given, services);
      return performWith(key, declared, given, services, confirm, () => meta.isOver);
    },
  };
}

export function refuseWithoutKey(): Refusal<'server_only'> {
  return refuse('server_only', { message: 'This needs a server key with the scope admin.' });
}

/** Like `perform`, but for the holder of a key. */
export async function performWith(
  key: ServerKey,
  declared: Operation,
  input: Readonly<Record<string, unknown>>,
  services: OperatorServices,
  confirm?: Confirm,
  isGone: () => boolean = () => false,
): Promise<object | Refusal> {
  return perform(declared, input, services, { ...operatorWith(key), isGone }, confirm);
}

/** The operator, who has a key or a session of the console. */
export function operatorWith(key: ServerKey): Operator {
  return { by: operatorOf(key), role: key.role ?? 'admin', key };
}

function fieldsOf(shape: z.ZodObject, takes: (name: string) => boolean): z.ZodObject {
  return z.object(Object.fromEntries(Object.entries(shape.shape).filter(([name]) => takes(name))));
}
