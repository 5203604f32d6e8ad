import { actQueue, refusedAs, type Act, type Answer, type Line } from './act-queue.ts';
import { guarded } from './guarded.ts';
import type { Credential } from './identity.ts';
import { applied, type Fields } from './merge-patch.ts';
import type { Pace } from './pace.ts';
import { isTemporary, TRY_MS, type SendOnce } from './request.ts';
import type { ActCode, ActError, Game, GameRoom, OwnPlayer, PlayedRoom, RoomEvents, ShownRoom } from './room-types.ts';
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
  /** Called with a refused act about which the game does not listen. */
  readonly onWarning?: (message: string) => void;
}

const NO_SEAT = 'You have no seat in this room any more: you were removed, away too long, or left on another page.';

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
  const warned = new Set<string>();
  /** Whether the player has left by an act of this page. */
  let hasLeft = false;
  /** The time of the service, less the time of `performance.now()`. */
  let offsetMs: number | undefined;
  /** The milliseconds there and back of the exchange that gave `offsetMs`. A faster one is more exact. */
  let roundTripMs = Infinity;
  let greetedAt = 0;
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
      const room = drawn();
      if (room && !isClosed) emit('change', room);
    });
  };

  const queue = actQueue(
    options.pace,
    options.kept ?? [],
    changed,
    () => drop(),
    (error, { action }) => {
      if (isClosed) return;
      const warning = `${action} was refused: ${error.message} (${error.code})`;
      if (!listeners.get('refused')?.size && !warned.has(warning)) options.onWarning?.(warning);
      warned.add(warning);
      emit('refused', error, { action });
    },
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

  const meIn = (room?: GameRoom<Game>): OwnPlayer<Game> | undefined => {
    const me = room?.players.find(({ id }) => id === playerId);
    return me && { ...me, ...(own !== undefined && { private: own }) };
  };

  /** The room as `change` hands it over. */
  const drawn = (): ShownRoom<Game> | undefined => {
    const room = view();
    return room && { ...room, me: meIn(room) };
  };

  /** Notes the time of the service. @param sentAt when the message was sent that this time answers, by `performance.now()` */
  const tell = (now: number, sentAt: number): void => {
    const ms = performance.now() - sentAt;
    if (ms > roundTripMs) return;
    roundTripMs = ms;
    offsetMs = now - sentAt - ms / 2;
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
    if (wasSeated && !isSeated()) {
      hasLeft ||= queue.unanswered().some(({ action }) => action === 'leave');
      refuse(refusedAs('not_in_room', NO_SEAT).error);
    }
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
      const { room, you, ...more } = reply as unknown as { room: Room; you: You } & Pick<Answer, 'replayed' | 'away'>;
      sits(you);
      if (watch.state.status === 'ended') takeRoom(room);
      queue.answered({ order, seq: room.seq, ...more });
    },
  };

  const refuse = (error: ActError): void => {
    if (HELD.includes(error.code)) queue.lost();
    else {
      queue.refuse(error);
      options.onSeat?.();
    }
    if (!hasLeft) emit('error', error);
  };

  const unknownMessage = ({ type, ...message }: Message): void => {
    const now = message['now'] as number;
    if (type === 'pong') tell(now, message['t'] as number);
    else if (type === 'welcome') {
      hasLeft = false;
      // The clock of a device that slept may have stopped.
      roundTripMs = Infinity;
      if (now) tell(now, greetedAt);
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
      else {
        const { error } = isClosed
          ? refusedAs('aborted', 'The page closed the room.')
          : refusedAs('room_not_found', 'This room does not exist.');
        queue.refuse(error);
        if (!hasLeft && /gone|room_not/.test(state.code)) emit('error', error);
      }
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
        greetedAt = performance.now();
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
        return meIn(view());
      },
      get connection() {
        return watch.state;
      },
      get unanswered() {
        return queue.unanswered().length;
      },
      now: () => (offsetMs === undefined ? Date.now() : performance.now() + offsetMs),
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
        const room = event === 'change' && drawn();
        if (room) guarded(listener as (room: unknown) => void)(room);
        return () => void all.delete(listener as never);
      },
      close: () => watch.close(),
    },
  };
}
