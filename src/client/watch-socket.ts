import { patched } from './patch.ts';
import type { Progress } from './progress.ts';
import { backoff, isTemporary, sleep } from './request.ts';
import type { Message, Socket, SocketClass, Watched } from './watched.ts';

const OPEN_MS = 10_000;

/** An idle connection is checked this often: a connection whose network has failed looks like a silent one. */
const CHECK_MS = 30_000;

/** The time that the socket has to bring a state that a read has already found. */
const BEHIND_MS = 2000;

/** Requests of the device and the caller to the open socket. */
export interface Asks {
  check?: (() => void) | undefined;
  greet?: (() => void) | undefined;
  /** The next socket brings no patches. */
  whole?: boolean;
}

/** Called with each message. */
export type Live = (by: 'socket' | 'poll') => void;

/**
 * Watches over one WebSocket until it closes. Returns its close code, and how long it was open: below 0 if it never opened.
 * @param asks filled while the socket is open
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
    /** The last room that this socket brought. The next patch applies to it, even if a read has found a newer room. */
    let room: unknown;
    let timer: ReturnType<typeof setTimeout>;
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
        // Closing a socket that never opened is an error too.
        socket.onerror = () => {};
        socket.close();
      }
      resolve([code, performance.now() - openedAt]);
    };
    const stop = (): void => done(0);
    const idle = (): unknown => asks.check === check && after(CHECK_MS * (1 + Math.random() / 2), check);
    const check = async (): Promise<void> => {
      idle();
      const reply = await progress.poll(0);
      if (asks.check !== check) return;
      // The service did not answer, or refused. A new connection ends the watch if the room no longer exists.
      if (!reply.ok && !(reply.status! >= 429)) stop();
      else if (progress.position > brought) after(BEHIND_MS, stop);
    };
    const greet = async (): Promise<void> => {
      const hello = await watched.hello?.();
      if (hello && asks.greet === greet) socket!.send(hello);
    };
    const receive = async (message: Message): Promise<void> => {
      // A message may get its turn after the socket was closed. Another socket may be open by then.
      if (asks.check !== check) return;
      // A patch that does not fit throws, which ends the socket. The next one then asks for whole rooms.
      asks.whole = true;
      if (message['ops']) message = { room: patched(room, message) };
      asks.whole = false;
      room = message['room'] ?? room;
      const known = progress.position;
      idle();
      live('socket');
      // The service could not process the hello at the moment.
      if (message.error && isTemporary(message.error)) void sleep(backoff(2, message.error), signal).then(greet);
      const found = await progress.take(message);
      // A new connection brings an older state: the service has lost changes, or this process of the service is behind.
      if (found && !brought && found < known) after(BEHIND_MS, check);
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
      // Node's own WebSocket fires no close event if it could not open.
      socket.onerror = () => openedAt === Infinity && stop();
    } catch {
      // An https page cannot open a ws: address.
      stop();
    }
  });

/** @param receive gets one message after the other. @param done is called at the end with the close code, or with 0 if `receive` failed */
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
