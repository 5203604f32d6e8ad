import { refuse, type Refusal } from '../../errors.ts';
import type { Services } from '../../declare.ts';
import { refuseKey } from '../../server/http/server-key-credential.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ChannelSocket } from '../../server/live/channel.ts';
import type { RoomState } from './feed.ts';
import type { ListWriter } from './list/list-writer.ts';
import { youJson, type OwnSeat } from './model.ts';
import { SERVER, type Presence } from './presence.ts';
import type { ConnectedPlayer, Welcomed } from './private-part.ts';
import { seatedIn } from './record.ts';
import { budgetOf } from './seat-budgets.ts';

export type WelcomeServices = Pick<Services, 'presence' | 'listWriter' | 'now'>;

/** Makes a connection only a watcher, which acts for nobody. */
export function lose(socket: ChannelSocket<ConnectedPlayer>, listWriter: ListWriter): void {
  listWriter.absent(socket);
  socket.memory.welcomed = socket.memory.answered = undefined;
  socket.name(undefined);
  socket.chargesTo(undefined);
}

/** Marks the caller connected, and sends `welcome`. @returns the seat, or the code of the refusal */
export async function greet(socket: ChannelSocket<ConnectedPlayer>, caller: Caller, tab: string | undefined, services: WelcomeServices) {
  const { presence, listWriter } = services;
  const { id, memory, connectionId } = socket;
  const lost = (reason: Refusal): void => {
    const by = memory.welcomed?.by;
    if (by === undefined || !('accountId' in by) || by.accountId !== caller.accountId) return;
    lose(socket, listWriter);
    socket.refuse(reason);
  };
  const outcome = await presence.hello(id, caller, connectionId, lost, tab);
  if (typeof outcome === 'string') return outcome;
  const { playerId, private: own, order } = outcome;
  const before = memory.welcomed?.by;
  become(socket, { by: caller, playerId, tab, budget: budgetOf(id, caller.accountId) }, listWriter);
  memory.sent = own;
  welcome(socket, outcome, services);
  // If a private part changed after the script of the hello ran and before `welcomed` was set, it is not in the welcome, and has to be sent
  // now.
  const { state } = socket;
  if (state !== undefined && state.privateAt > (own?.seq ?? 0)) socket.privateChanged();
  await replace(before, socket, presence);
  return outcome;
}

/** Welcomes a server whose hello has a server key. */
export async function greetServer(
  socket: ChannelSocket<ConnectedPlayer>,
  serverKey: string,
  tab: string | undefined,
  services: WelcomeServices,
): Promise<void> {
  const { presence, listWriter } = services;
  const key = socket.keyOf(serverKey);
  const refusal = refuseKey(key, { keyScope: 'rooms' });
  if (refusal !== undefined) throw refusal;
  const { fields } = (socket.state as RoomState | undefined) ?? {};
  if (fields === undefined) throw refuse('room_not_found');
  if (key.game !== undefined && fields.get('game') !== key.game)
    throw refuse('forbidden', { message: `This server key is for the game ${key.game}.`, field: 'serverKey' });
  const order = await presence.helloServer(socket.id, socket.connectionId, tab);
  if (order === 'room_not_found') throw refuse(order);
  const before = socket.memory.welcomed?.by;
  become(socket, { by: key, playerId: 'server', tab }, listWriter);
  welcome(socket, { playerId: 'server', host: true, order }, services);
  await replace(before, socket, presence);
}

/**
 * Marks the player or server of a connection as connected again, after the connection was silent for some time. The player may have lost
 * the seat meanwhile.
 */
export async function greetAgain(socket: ChannelSocket<ConnectedPlayer>, { by, tab }: Welcomed, services: WelcomeServices): Promise<void> {
  if ('accountId' in by) {
    const outcome = await greet(socket, by, tab, services);
    if (typeof outcome !== 'string') return;
    lose(socket, services.listWriter);
    return socket.refuse(refuse(outcome));
  }
  await services.presence.helloServer(socket.id, socket.connectionId, tab);
  services.listWriter.present(socket, 'server');
}

function welcome(socket: ChannelSocket<ConnectedPlayer>, you: OwnSeat, { now }: WelcomeServices): void {
  const order = you.order === undefined ? '' : `,"order":${you.order}`;
  socket.send(`{"type":"welcome","you":${youJson(you)}${order},"now":${Math.round(now())}}`);
}

/** Makes a connection act for a player or a server. */
function become(socket: ChannelSocket<ConnectedPlayer>, welcomed: Welcomed, listWriter: ListWriter): void {
  listWriter.present(socket, welcomed.playerId);
  socket.memory.welcomed = welcomed;
  socket.name(welcomed.playerId);
  socket.chargesTo('scopes' in welcomed.by ? welcomed.by : undefined);
}

/** If the last hello of a connection is from another caller than before, ends the lease of the earlier caller. */
async function replace(before: Welcomed['by'] | undefined, socket: ChannelSocket<ConnectedPlayer>, presence: Presence): Promise<void> {
  const now = socket.memory.welcomed?.by;
  if (before === undefined || (now !== undefined && leaseholderOf(now) === leaseholderOf(before))) return;
  await presence.bye(socket.id, leaseholderOf(before), socket.connectionId);
}

/** The holder of the lease of a welcomed connection: the account id, or SERVER. */
export function leaseholderOf(by: Welcomed['by']): string {
  return 'accountId' in by ? by.accountId : SERVER;
}

/**
 * Whether the connection has already been welcomed after a hello from the same caller and tab, and the welcomed player still has the seat.
 * A player who left and joined again has a new player id.
 */
export function isAnswered({ memory, state }: ChannelSocket<ConnectedPlayer>, caller: Caller, tab: string | undefined): boolean {
  const { answered, welcomed } = memory;
  if (welcomed === undefined || welcomed !== answered || !('accountId' in welcomed.by)) return false;
  if (welcomed.by.accountId !== caller.accountId || welcomed.tab !== tab) return false;
  return state !== undefined && seatedIn((state as RoomState).fields.get('players')!).includes(welcomed.playerId);
}
