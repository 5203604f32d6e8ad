import type { Client, CoinopError, Room, Watch, WatchState } from '/client.js';
import { make, name, onPress, onSubmit, setEnabled } from './dom.ts';
import { player } from './players.ts';
import { explain } from './problems.ts';
import { Play } from './room-play.ts';
import { wireOf, type Wire } from './wire.ts';

const COLOURS = ['amber', 'coral', 'mint', 'sky', 'plum'];

/** A dropped connection stays down for so long that one sees it. */
const DOWN_MS = 2000;

/** The step about rooms: two players, each with a screen that watches the room. */
export function showRoom(): void {
  // The messages are what this step is about: open requests would push them out of sight.
  const wire = wireOf('room', false);
  const screens: Screen[] = ['ada', 'bob'].map((id) => new Screen(id, wire, (code) => screens.forEach((screen) => screen.suggest(code))));
}

class Screen {
  readonly #root: HTMLElement;
  readonly #name: string;
  readonly #client: Client;
  readonly #opened: (code: string) => void;
  readonly #play: Play;
  #socket: WebSocket | undefined;
  /** Whether the connection was dropped by hand, and the client has not been told yet. */
  #isDown = false;
  #watch: Watch | undefined;
  #room: Room | undefined;
  #playerId: string | undefined;

  /** @param opened gets the code of a room that this screen opened */
  constructor(id: string, wire: Wire, opened: (code: string) => void) {
    this.#root = document.querySelector<HTMLElement>(`[data-pane="${id}"]`)!;
    this.#name = id[0]!.toUpperCase() + id.slice(1);
    this.#opened = opened;
    const keep = (socket: WebSocket): void => this.#keep(socket);
    const Traced = wire.socketOf(this.#name);
    this.#client = player(id, wire, {
      WebSocket: class extends Traced {
        constructor(url: string | URL) {
          super(url);
          keep(this);
        }
      },
    });
    this.#play = new Play(this.#root, this.#client, (text) => this.#say(text));
    for (const button of this.#root.querySelectorAll<HTMLElement>('[data-act]')) onPress(button, () => this.#act(button.dataset['act']!));
    for (const button of this.#root.querySelectorAll<HTMLElement>('[data-colour]'))
      onPress(button, () => this.#paint(button.dataset['colour']!));
    onSubmit(this.#part('join'), () => this.#join());
  }

  /** The client learns DOWN_MS later that its connection was dropped, and connects again then. */
  #keep(socket: WebSocket): void {
    this.#socket = socket;
    let told: WebSocket['onclose'] = null;
    Object.defineProperty(socket, 'onclose', { get: () => told, set: (handler: typeof told) => void (told = handler) });
    socket.addEventListener('message', ({ data }) => this.#play.take(String(data)));
    socket.addEventListener('close', (event) => {
      const tell = (): void => {
        this.#isDown = false;
        told?.call(socket, event);
      };
      if (this.#isDown) setTimeout(tell, DOWN_MS);
      else tell();
    });
  }

  /** The browser's own close code for a page that goes. The client connects again. */
  #drop(): void {
    if (this.#isDown || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#isDown = true;
    this.#showLink({ status: 'waiting', ms: DOWN_MS });
    this.#socket.close(3000, 'dropped by hand');
  }

  /** Fills the code in, for a screen that is in no room. */
  suggest(code: string): void {
    if (this.#watch === undefined) this.#typed.value = code;
  }

  get #typed(): HTMLInputElement {
    return this.#part('typed') as HTMLInputElement;
  }

  #part(part: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(`[data-part="${part}"]`)!;
  }

  #say(text: string): void {
    this.#part('said').textContent = text;
  }

  async #act(act: string): Promise<void> {
    if (act === 'create') return this.#create();
    if (act === 'drop') return this.#drop();
    const code = this.#room?.code;
    if (code === undefined) return;
    const isReady = this.#room!.players.find(({ id }) => id === this.#playerId)?.ready;
    const action = act === 'ready' && isReady === true ? 'unready' : act;
    // Before the request: the message that the room has ended may come sooner than the reply.
    this.#say('');
    const reply = await this.#client.rooms[action as 'ready' | 'unready' | 'start' | 'end' | 'leave']({ code });
    if (!reply.ok) return this.#say(explain(reply.error));
    if (action === 'leave') this.#leave('You left the room.');
  }

  async #create(): Promise<void> {
    const reply = await this.#client.rooms.create({ name: this.#name });
    if (!reply.ok) return this.#say(explain(reply.error));
    this.#enter(reply.room, reply.you.playerId);
    this.#opened(reply.room.code);
  }

  async #join(): Promise<void> {
    const code = this.#typed.value.trim();
    if (code === '') return this.#say('Type the five letters of a room first.');
    if (code.length >= 24) return this.#say('That looks like a token or an address. A room has a code of five letters.');
    const reply = await this.#client.rooms.join({ code, name: this.#name });
    if (!reply.ok) return this.#say(explain(reply.error));
    this.#enter(reply.room, reply.you.playerId);
  }

  #enter(room: Room, playerId: string): void {
    // A person can open a room while a join is under way.
    this.#watch?.close();
    this.#playerId = playerId;
    this.#say('');
    this.#show(room);
    this.#watch = this.#client.watchRoom(room.code, (found) => this.#show(found), {
      onState: (state) => this.#showLink(state),
      onError: (error: CoinopError) => this.#say(explain(error)),
    });
    this.#moveFocus('ready');
  }

  /** Focuses a button in place of one that went, unless the person has moved on to another part of the page. */
  #moveFocus(act: 'ready' | 'create'): void {
    if (this.#root.contains(document.activeElement) || document.activeElement === document.body)
      this.#root.querySelector<HTMLElement>(`[data-act="${act}"]`)!.focus({ preventScroll: true });
  }

  /** Goes back to the buttons of a screen without a room. */
  #leave(text: string): void {
    this.#watch?.close();
    this.#watch = this.#room = undefined;
    this.#say(text);
    this.#part('inside').hidden = this.#part('colours').hidden = true;
    this.#part('outside').hidden = false;
    this.#part('link').textContent = 'not connected';
    this.#part('link').className = 'chip';
    this.#part('phase').textContent = 'no room';
    this.#part('seats').replaceChildren();
    this.#part('stage').className = 'stage';
    this.#play.leave();
    this.#moveFocus('create');
  }

  #showLink(state: WatchState): void {
    // `#leave` has closed the watch, and shows what it left behind.
    if (this.#watch === undefined) return;
    const chip = this.#part('link');
    chip.textContent = { connecting: 'connecting', live: 'live', waiting: 'offline', ended: 'ended' }[state.status];
    chip.className = `chip ${state.status}`;
    if (state.status === 'waiting') this.#say('The connection broke. It comes back by itself.');
    if (state.status === 'live') this.#say('');
    if (state.status === 'ended' && state.code !== 'closed')
      this.#leave(
        state.code === 'finished'
          ? 'The room has ended.'
          : state.code === 'gone'
            ? 'This room does not exist any more.'
            : `The watch ended: ${state.code}.`,
      );
  }

  #show(room: Room): void {
    this.#room = room;
    const me = room.players.find(({ id }) => id === this.#playerId);
    if (this.#watch !== undefined && me === undefined && room.phase !== 'ended') return this.#leave('You are not in this room any more.');
    this.#part('outside').hidden = true;
    this.#part('inside').hidden = false;
    this.#part('code').textContent = room.code;
    this.#part('phase').textContent = `${room.phase}, seq ${room.seq}`;
    const { colour } = (room.state ?? {}) as { colour?: string };
    this.#part('stage').className = `stage ${COLOURS.includes(colour ?? '') ? colour! : ''}`;
    this.#part('seats').replaceChildren(
      ...room.players.map((seat) =>
        make(
          'li',
          { className: seat.connected ? '' : 'away' },
          name(seat.name),
          ...[seat.host && 'host', seat.ready && 'ready', !seat.connected && 'away']
            .filter((word) => word !== false)
            .map((word) => make('span', { className: 'tag', textContent: word })),
        ),
      ),
    );
    const [isHost, isLobby] = [room.hostId === this.#playerId, room.phase === 'lobby'];
    const button = (act: string): HTMLElement => this.#root.querySelector<HTMLElement>(`[data-act="${act}"]`)!;
    button('ready').textContent = me?.ready === true ? 'Not ready' : 'Ready';
    setEnabled(button('ready'), isLobby);
    setEnabled(button('start'), isHost && isLobby);
    setEnabled(button('end'), isHost);
    this.#part('colours').hidden = !isHost;
    this.#play.show(room, this.#playerId);
  }

  async #paint(colour: string): Promise<void> {
    const reply = await this.#client.rooms.state({ code: this.#room!.code, state: { colour } });
    if (!reply.ok) this.#say(explain(reply.error));
  }
}
