import { actQueue, refusedAs, type Act, type Answer, type Line } from './act-queue.ts';
import { guarded } from './guarded.ts';
import type { Credential } from './identity.ts';
import { applied, type Fields } from './merge-patch.ts';
import type { Pace } from './pace.ts';
import { isTemporary, TRY_MS, type SendOnce } from './request.ts';
import type { ActCode, ActError, Game, GameRoom, PlayedRoom, RoomEvents } from './room-types.ts';
import type { Room } from './routes.ts';
import type { Watch } from './watch.ts';
import type { Followed, Message, WatchState } from './watched.ts';
import type { ActionName } from './wire.ts';

/** What a played room needs from its client, which is a player's or a server's. */
export interface PlayedRoomOptions {
  readonly code: string;
  readonly to: SendOnce;
  /** The request headers that name the caller. */
  readonly credential: () => Promise<Credential>;
  readonly follow: (followed: Followed, onState: (state: WatchState) => void) => Watch;
  readonly pace: Pace;
  /** The unfinished acts and the seat of an earlier page. */
  readonly kept?: Act[];
  readonly seat?: string | undefined;
  /** Called with each seat that the service confirms, and with undefined when the seat is lost or the room has ended. */
  readonly onSeat?: (seat?: string) => void;
}

/** The error codes after which a sign-in may give the caller the seat back, so the acts are kept. */
const HELD = ['session_required', 'sign_in_required'];

interface You {
  playerId: string;
  private?: unknown;
}

export interface OpenedRoom {
  room: PlayedRoom;
  /** The acts that the next page has to finish. */
  left(): Act[];
}

/** Plays in one room: watches it, and sends acts. */
export function playedRoom(options: PlayedRoomOptions): OpenedRoom {
  const { code, to, credential } = options;
  const listeners = new Map<string, Set<(...values: never[]) => void>>();
  let confirmed: Room | undefined;
  /** The room that the page shows: the confirmed room with the effect of own acts. Undefined: the room has to be computed again. */
  let shown: GameRoom<Game> | undefined;
  let playerId: string | undefined = options.seat?.split(' ')[1];
  let own: unknown;
  let isTelling = false;
  let isClosed = false;
  /** The hello that was sent on the open socket. Empty before that. */
  let greeting = '';
  let sendText: (text: string) => void;
  let drop = (): void => {};

  const emit = (event: keyof RoomEvents<Game>, ...values: unknown[]): void => {
    for (const listener of [...(listeners.get(event) ?? [])]) guarded(listener)(...(values as never[]));
  };

  /** Tells the listeners of a change. Several changes in one turn of the event loop cause one call. */
  const changed = (): void => {
    shown = undefined;
    if (isTelling) return;
    isTelling = true;
    queueMicrotask(() => {
      isTelling = false;
      const room = view();
      if (room && !isClosed) emit('change', room);
    });
  };

  const queue = actQueue(
    options.pace,
    options.kept ?? [],
    changed,
    () => drop(),
    (error, { action }) => isClosed || emit('refused', error, { action }),
  );
  if (options.seat) queue.sitsIn(options.seat);

  const view = (): GameRoom<Game> | undefined => {
    if (shown || !confirmed) return shown;
    let { state, players } = confirmed;
    for (const { action, fields } of queue.echo()) {
      if (action === 'data')
        players = players.map((player) => (player.id === playerId ? { ...player, data: applied(player.data, fields, 'data') } : player));
      else if (action === 'state' || 'state' in fields || 'merge' in fields) state = applied(state, fields, 'state');
    }
    return (shown = { ...confirmed, state, players } as GameRoom<Game>);
  };

  const sits = (you: You): void => {
    playerId = you.playerId;
    own = you.private;
    changed();
  };

  const isSeated = (): boolean | undefined => confirmed?.players.some(({ id }) => id === playerId);
  const seatOf = (): string | undefined => confirmed && playerId && `${confirmed.createdAt} ${playerId}`;

  const takeRoom = (room: Room): void => {
    const wasSeated = isSeated();
    confirmed = room;
    queue.seen(room.seq);
    if (wasSeated && !isSeated()) refuse(refusedAs('not_in_room').error);
    changed();
  };

  const overSocket: Line = {
    send: ({ order, action, tab, fields }) => sendText(JSON.stringify({ type: 'act', order, action, tab, ...fields })),
  };

  /** Sends acts by HTTP: for a room that has ended, whose socket is closed, and on networks that block WebSockets. */
  const overHttp: Line = {
    isHttp: true,
    async send({ order, action, tab, fields }) {
      const route = `POST /v1/rooms/{code}/${action as ActionName}` as const;
      const reply = await to(route, { ...fields, code, order, tab }, await credential(), new AbortController().signal);
      if (!reply.ok) return queue.answered({ order, error: reply.error as ActError });
      const { room, you, replayed } = reply as unknown as { room: Room; you: You; replayed?: true };
      sits(you);
      if (watch.state.status === 'ended') takeRoom(room);
      queue.answered({ order, seq: room.seq, replayed });
    },
  };

  const refuse = (error: ActError): void => {
    if (HELD.includes(error.code)) queue.lost();
    else {
      queue.refuse(error);
      options.onSeat?.();
    }
    emit('error', error);
  };

  const unknownMessage = ({ type, ...message }: Message): void => {
    if (type === 'welcome') {
      sits(message['you'] as You);
      const seat = seatOf();
      if (seat) options.onSeat?.(seat);
      queue.open(overSocket, seat);
    } else if (type === 'you') sits(message as unknown as You);
    else if (type === 'acted') queue.answered(message as unknown as Answer);
    else if (type === 'message' || type === 'missed') emit(type, message);
    else if (message.error && !isTemporary(message.error)) refuse(message.error as ActError);
  };

  const onState = (state: WatchState): void => {
    if (state.status === 'live') {
      if (state.by === 'poll') queue.open(overHttp, seatOf());
    } else if (state.status !== 'ended') queue.lost();
    else {
      isClosed = state.code === 'closed';
      if (state.code === 'finished') queue.open(overHttp, seatOf());
      else queue.refuse(refusedAs(isClosed ? 'aborted' : 'room_not_found', state.code).error);
      if (!isClosed) options.onSeat?.();
    }
    emit('connection', state);
  };

  const watch = options.follow(
    {
      path: `/v1/rooms/${encodeURIComponent(code)}/live`,
      patches: true,
      poll: (wait, since, signal) => to('GET /v1/rooms/{code}', wait ? { code, since, wait } : { code }, {}, signal, wait * 1000 + TRY_MS),
      positionOf: ({ room }) => (room as Room | undefined)?.seq,
      deliver({ room }) {
        takeRoom(room as Room);
        return (room as Room).phase === 'ended';
      },
      other: unknownMessage,
      async hello() {
        const { 'x-install-id': installId, authorization } = await credential();
        const token = authorization?.slice(7);
        const by = token?.startsWith('coinop_sk_') ? { serverKey: token } : { sessionToken: token, installId };
        const hello = JSON.stringify({ type: 'hello', ...by, tab: queue.tab });
        if (greeting && greeting !== hello) {
          // A socket belongs to one caller. The acts under way on the socket must not be sent as acts of another caller.
          drop();
          return '';
        }
        queue.refuse(undefined);
        return (greeting = hello);
      },
      opened(send, close) {
        sendText = send;
        drop = close;
        greeting = '';
      },
    },
    onState,
  );

  const state = (fields: Fields, options: object = {}) => queue.add<ActCode<'state'>>('state', { ...fields, ...options });
  return {
    left: queue.left,
    room: {
      code,
      get room() {
        return view();
      },
      get state() {
        return view()?.state;
      },
      get players() {
        return view()?.players ?? [];
      },
      get me() {
        const me = view()?.players.find(({ id }) => id === playerId);
        return me && { ...me, ...(own !== undefined && { private: own }) };
      },
      get connection() {
        return watch.state;
      },
      get unanswered() {
        return queue.unanswered().length;
      },
      ended: watch.ended,
      set: (data) => queue.add('data', { data }),
      merge: (merge) => queue.add('data', { merge }),
      setState: (value, options) => state({ state: value }, options),
      mergeState: (merge, options) => state({ merge }, options),
      deal: (seats, more) => queue.add('private', { seats, ...more }),
      send: (data, list) => queue.add('message', { data, to: list }),
      act: (action, ...[fields]) => queue.add(action, { ...fields }),
      on(event, listener) {
        const all = listeners.get(event) ?? new Set();
        listeners.set(event, all.add(listener as never));
        return () => void all.delete(listener as never);
      },
      close: () => watch.close(),
    },
  };
}
