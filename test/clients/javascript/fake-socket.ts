import type { Socket, SocketClass } from '../../../src/clients/javascript/watched.ts';

/** WebSockets that the test opens, feeds and closes. */
export class FakeSockets {
  readonly opened: FakeSocket[] = [];
  readonly WebSocket: SocketClass;

  constructor() {
    const { opened } = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url: string) {
        super(url);
        opened.push(this);
      }
    };
  }

  get last(): FakeSocket {
    return this.opened.at(-1)!;
  }
}

export class FakeSocket implements Socket {
  readonly url: string;
  readonly sent: unknown[] = [];
  isClosed = false;
  onopen: Socket['onopen'] = null;
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  onerror: Socket['onerror'] = null;

  constructor(url: string) {
    this.url = url;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.isClosed = true;
  }

  room(seq: number, phase = 'lobby'): void {
    this.message({ type: 'room', seq, room: { seq, phase } });
  }

  message(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}
