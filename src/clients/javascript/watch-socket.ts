import type { Progress } from './progress.ts';
import { backoff, isTemporary, sleep } from './request.ts';
import type { Message, Socket, SocketClass, Watched } from './watched.ts';

/** Milliseconds within which a connection must open. A service that has just come back opens the next one at once. */
const OPEN_MS = 4000;

/**
 * The interval, in milliseconds, at which an idle connection is checked. A connection whose network has failed is silent, like one without
 * news.
 */
const CHECK_MS = 30_000;

/** Milliseconds of silence after which a connection is pinged, if the service answers pings, and those until the answer is missing. */
const QUIET_MS = 10_000;
const PONG_MS = 4000;

/** Of so many checks of an idle connection one is a read, which also shows whether the service is behind. */
const READS = 4;

/** Milliseconds within which the socket must bring a state that a read has already found. */
const BEHIND_MS = 2000;

/** The functions by which the watch makes the open socket check its connection, or greet again. */
export interface Asks {
  check?: (() => void) | undefined;
  greet?: (() => void) | undefined;
  /** Whether the next socket asks for whole rooms in place of patches. */
  whole?: boolean;
  /** The code of the last error that the socket brought. */
  error?: string;
}

/** Called with the way by which news came, at each message. */
export type Live = (by: 'socket' | 'poll') => void;

/**
 * Watches over one WebSocket until it closes. Returns the close code, and for how many milliseconds the socket was open: below 0 if it
 * never opened.
 * @param asks has its functions while the socket is open
 */
export const overSocket = (
  watched: Watched,
  progress: Progress,
  signal: AbortSignal,
  asks: Asks,
  live: Live,
): Promise<[code: number, openMs: number]> =>
  new Promise((resolve) => {
    let socket: Socket | undefined;
    let openedAt = Infinity;
    /** The position of the newest state that this socket brought. */
    let brought = 0;
    /** The last room that this socket brought. The next patch applies to this room, even if a read has found a newer one. */
    let room: unknown;
    let timer: ReturnType<typeof setTimeout>;
    /** Whether the service answers pings. An older one closes a socket that sends them. */
    let pings = false;
    let looks = 0;
    const after = (ms: number, run: () => void): void => {
      clearTimeout(timer);
      timer = setTimeout(run, ms);
    };
    const done = (code: number): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      asks.check = asks.greet = undefined;
      if (socket) {
        socket.onopen = socket.onmessage = socket.onclose = null;
        // Ignored: closing a socket that never opened is an error too.
        socket.onerror = () => {};
        socket.close();
      }
      resolve([code, performance.now() - openedAt]);
    };
    const stop = (): void => done(0);
    const idle = (): unknown => asks.check === check && after(pings ? QUIET_MS : CHECK_MS * (1 + Math.random() / 2), look);
    const look = (): void => (pings && ++looks % READS ? check() : void read());
    const check = (): void => {
      if (!pings) return void read();
      socket!.send(JSON.stringify({ type: 'ping', t: performance.now() }));
      after(PONG_MS, stop);
    };
    const read = async (): Promise<void> => {
      idle();
      const reply = await progress.poll(0);
      if (asks.check !== check) return;
      // The service did not answer, or refused. A new connection follows, and ends the watch if the room no longer exists.
      if (!reply.ok && !(reply.status! >= 429)) stop();
      else if (progress.position > brought) after(BEHIND_MS, stop);
    };
    const greet = async (): Promise<void> => {
      const hello = await watched.hello?.();
      if (hello && asks.greet === greet) socket!.send(hello);
    };
    const receive = async (message: Message): Promise<void> => {
      // A message may be processed after its socket was closed, when another socket is open already. A late message of a closed socket is
      // dropped.
      if (asks.check !== check) return;
      pings ||= message.type === 'welcome' && !!message['now'];
      // A patch that does not fit throws, which ends this socket. `asks.whole` is then still set, so the next socket asks for whole rooms.
      asks.whole = true;
      if (message['ops']) message = { room: watched.patched!(room, message) };
      asks.whole = false;
      room = message['room'] ?? room;
      const known = progress.position;
      idle();
      live('socket');
      // The error of an `acted` is not the channel's.
      const error = message.type === 'error' ? message.error : undefined;
      asks.error = error?.code ?? asks.error;
      // The service could not process the hello at the moment, so the hello is sent again.
      if (error && isTemporary(error)) void sleep(backoff(2, error), signal).then(greet);
      const found = await progress.take(message);
      // A new connection brought an older state than the known one: the service has lost changes, or this process of the service is behind.
      // A read finds out.
      if (found && !brought && found < known) after(BEHIND_MS, read);
      brought = Math.max(brought, found);
      if (progress.isFinal) stop();
    };
    const opened = (): void => {
      openedAt = performance.now();
      asks.check = check;
      asks.greet = greet;
      watched.opened?.((text) => socket!.send(text), stop);
      idle();
      void greet();
    };
    signal.addEventListener('abort', stop);
    after(OPEN_MS, stop);
    try {
      const query = watched.patches && !asks.whole ? '?patch=1' : '';
      socket = connect(watched.WebSocket!, watched.socketUrl + query, opened, receive, done);
      // Node's own WebSocket fires no close event if it could not open, only an error.
      socket.onerror = () => openedAt === Infinity && stop();
    } catch {
      // An https page cannot open a ws: address: the constructor throws.
      stop();
    }
  });

/**
 * Opens a socket.
 * @param receive gets one message after the other
 * @param done is called at the end with the close code, or with 0 if `receive` failed
 */
function connect(
  WebSocket: SocketClass,
  url: string,
  opened: () => void,
  receive: (message: Message) => Promise<void>,
  done: (code: number) => void,
): Socket {
  const socket = new WebSocket(url);
  let work = Promise.resolve();
  socket.onopen = opened;
  socket.onmessage = ({ data }: { data: unknown }) =>
    (work = work.then(() => receive(JSON.parse(data as string) as Message)).catch(() => done(0)));
  socket.onclose = ({ code }: { code: number }) => work.then(() => done(code));
  return socket;
}
