import type { Client, Room, WatchState } from '/client.js';
import { lastSeat, playRoom, type PlayedRoom } from '/rooms.js';
import { leadTo, make, name, onPress, onSubmit, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { player } from './players.ts';
import { explain } from '../../../web/browser/problems.ts';
import { GAME, showOpenRooms } from './open-rooms.ts';
import { newState, Play } from './room-play.ts';
import { wireOf, type Wire } from './wire.ts';

const COLOURS = ['amber', 'coral', 'mint', 'sky', 'plum'];

/** Milliseconds for which a dropped connection stays down: long enough to be seen. */
const DOWN_MS = 2000;

/** The step about rooms: two players, each with a screen that plays in the room. */
export function showRoom(): void {
  // Requests stay folded in the log. This step is about the live messages, and unfolded requests would push these out of sight.
  const wire = wireOf('room', false);
  // If a screen's player already has a seat, the screen reports this before the list exists.
  let showWhoCanJoin = (): void => {};
  const screens: Screen[] = ['ada', 'bob'].map(
    (id) =>
      new Screen(id, wire, {
        opened: (code) => screens.forEach((screen) => screen.suggest(code)),
        moved: () => showWhoCanJoin(),
      }),
  );
  showWhoCanJoin = showOpenRooms(screens);
}

/** The callbacks by which a screen informs the other parts of the page. */
interface Told {
  /** The screen has opened the room with this code. */
  opened(code: string): void;
  /** The player has taken a seat, or has left it. */
  moved(): void;
}

class Screen {
  /** The name of the screen's player. */
  readonly name: string;
  readonly #root: HTMLElement;
  readonly #client: Client;
  readonly #told: Told;
  readonly #play: Play;
  #socket: WebSocket | undefined;
  /** Whether a person has dropped the connection and the client library does not know this yet. */
  #isDown = false;
  #played: PlayedRoom | undefined;
  #room: Room | undefined;
  #playerId: string | undefined;
  /** Whether the player has asked to leave. The channel may show the room without the player before the request to leave is answered. */
  #isLeaving = false;

  constructor(id: string, wire: Wire, told: Told) {
    this.#root = document.querySelector<HTMLElement>(`[data-pane="${id}"]`)!;
    this.name = id[0]!.toUpperCase() + id.slice(1);
    this.#told = told;
    const keep = (socket: WebSocket): void => this.#keep(socket);
    const Traced = wire.socketOf(this.name);
    this.#client = player(id, wire, {
      WebSocket: class extends Traced {
        constructor(url: string | URL) {
          super(url);
          keep(this);
        }
      },
    });
    this.#play = new Play(this.#root, (text) => this.#refused(text));
    for (const button of this.#root.querySelectorAll<HTMLElement>('[data-act]')) onPress(button, () => this.#act(button.dataset['act']!));
    for (const button of this.#root.querySelectorAll<HTMLElement>('[data-colour]'))
      onPress(button, () => void this.#paint(button.dataset['colour']!));
    onSubmit(this.#part('join'), () => this.#join());
    this.#typed.addEventListener('input', () => this.#showJoin());
    this.#showJoin();
    const seat = lastSeat(this.#client);
    if (seat !== undefined) this.#follow(seat.code, seat.playerId);
  }

  /**
   * Delays the socket's `close` event for the client library. So the library learns DOWN_MS later that the connection was dropped, and
   * reconnects then.
   */
  #keep(socket: WebSocket): void {
    this.#socket = socket;
    let told: WebSocket['onclose'] = null;
    Object.defineProperty(socket, 'onclose', { get: () => told, set: (handler: typeof told) => void (told = handler) });
    socket.addEventListener('close', (event) => {
      const tell = (): void => {
        this.#isDown = false;
        told?.call(socket, event);
      };
      if (this.#isDown) setTimeout(tell, DOWN_MS);
      else tell();
    });
  }

  /** Drops the connection, with a close code for pages (3000) after which the client library reconnects. */
  #drop(): void {
    if (this.#isDown || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#isDown = true;
    this.#showLink({ status: 'waiting', ms: DOWN_MS });
    this.#socket.close(3000, 'dropped by hand');
  }

  /** Puts the code into the field of a screen that is not in a room. */
  suggest(code: string): void {
    if (this.#played !== undefined) return;
    this.#typed.value = code;
    this.#showJoin();
    leadTo(this.#joinButton, this.#root);
  }

  /** Whether the player has no room and can join one. */
  get isFree(): boolean {
    return this.#played === undefined;
  }

  get #joinButton(): HTMLElement {
    return this.#part('join').querySelector('button')!;
  }

  #showJoin(): void {
    setEnabled(this.#joinButton, this.#typed.value.trim() !== '');
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

  #refused(text: string): void {
    sayProblem(this.#part('said'), text);
  }

  async #act(act: string): Promise<void> {
    if (act === 'create') return this.#create();
    if (act === 'drop') return this.#drop();
    const played = this.#played;
    if (played === undefined) return;
    const isReady = this.#room!.players.find(({ id }) => id === this.#playerId)?.ready;
    const action = act === 'ready' && isReady === true ? 'unready' : act;
    this.#isLeaving = action === 'leave';
    this.#say('');
    const result = await played.act(action as 'ready' | 'unready' | 'start' | 'end' | 'leave');
    // Before this answer came, the player may have left the room, or the room may have ended.
    if (played !== this.#played) return;
    if (!result.ok) this.#refused(explain(result.error));
    else if (this.#isLeaving) this.#leave();
  }

  async #create(): Promise<void> {
    const reply = await this.#client.rooms.create({ name: this.name, game: GAME, public: true, state: newState });
    if (!reply.ok) return this.#refused(explain(reply.error));
    this.#enter(reply.room, reply.you.playerId);
    this.#told.opened(reply.room.code);
  }

  async #join(): Promise<void> {
    const code = this.#typed.value.trim();
    if (code === '') return this.#refused('Type the five letters of a room first.');
    if (code.length >= 24) return this.#refused('That looks like a token or an address. A room has a code of five letters.');
    await this.joinRoom(code);
  }

  /** Joins a room, unless the screen is in a room already. */
  async joinRoom(code: string): Promise<void> {
    if (this.#played !== undefined) return this.#refused('Leave this room first.');
    const reply = await this.#client.rooms.join({ code, name: this.name });
    if (!reply.ok) return this.#refused(explain(reply.error));
    this.#enter(reply.room, reply.you.playerId);
  }

  #enter(room: Room, playerId: string): void {
    this.#follow(room.code, playerId, room);
    this.#moveFocus('ready');
  }

  /**
   * Shows a room and its changes.
   * @param entered the room as the player entered it; left out if the player had a seat before the page was loaded again
   */
  #follow(code: string, playerId: string, entered?: Room): void {
    // A person can open a room while the screen is still joining another room.
    this.#close();
    this.#playerId = playerId;
    this.#isLeaving = false;
    this.#say('');
    if (entered !== undefined) this.#show(entered);
    const played = playRoom(this.#client, code);
    this.#played = played;
    this.#told.moved();
    this.#play.enter(played);
    // The channel may first show the room as it was just before the player joined. That state is skipped.
    played.on('change', (found) => found.seq >= (entered?.seq ?? 0) && this.#show(found));
    played.on('connection', (state) => played === this.#played && this.#showLink(state));
    played.on('error', (error) => played === this.#played && !this.#isLeaving && this.#refused(explain(error)));
  }

  /** Closes the connection. Events that it still sends are ignored. */
  #close(): void {
    const played = this.#played;
    this.#played = undefined;
    played?.close();
  }

  /** Moves the focus from a button that has disappeared to this button, unless the person has moved on to another part of the page. */
  #moveFocus(act: 'ready' | 'create'): void {
    if (this.#root.contains(document.activeElement) || document.activeElement === document.body)
      this.#root.querySelector<HTMLElement>(`[data-act="${act}"]`)!.focus({ preventScroll: true });
  }

  /** Shows again the buttons of a screen that is in no room. */
  #leave(text = 'You left the room.'): void {
    this.#close();
    this.#told.moved();
    this.#room = undefined;
    this.#say(text);
    leadTo(this.#root.querySelector('[data-act="create"]'), this.#root);
    this.#part('inside').hidden = this.#part('colours').hidden = true;
    this.#part('outside').hidden = false;
    this.#part('link').textContent = '';
    this.#part('link').className = 'chip';
    this.#part('phase').textContent = 'no room';
    this.#part('seats').replaceChildren();
    this.#part('stage').className = 'stage';
    this.#play.leave();
    this.#moveFocus('create');
  }

  #showLink(state: WatchState): void {
    const chip = this.#part('link');
    chip.textContent = { connecting: 'connecting', live: 'live', waiting: 'offline', ended: 'ended' }[state.status];
    chip.className = `chip ${state.status}`;
    setEnabled(this.#button('drop'), state.status === 'live');
    if (state.status === 'waiting') this.#refused('Offline. It connects again by itself.');
    if (state.status === 'live') this.#say('');
    if (state.status === 'ended' && state.code !== 'closed')
      this.#leave(
        state.code === 'finished'
          ? 'The room has ended.'
          : state.code === 'gone'
            ? 'This room does not exist any more.'
            : `The connection ended: ${state.code}.`,
      );
  }

  #show(room: Room): void {
    this.#room = room;
    const me = room.players.find(({ id }) => id === this.#playerId);
    if (this.#played !== undefined && me === undefined && room.phase !== 'ended')
      return this.#leave(this.#isLeaving ? undefined : 'You are not in this room any more.');
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
          make('span', { className: seat.connected ? 'dot good' : 'dot' }),
          name(seat.name),
          ...[seat.host && 'host', seat.ready && 'ready', !seat.connected && 'away']
            .filter((word) => word !== false)
            .map((word) => make('span', { className: 'chip', textContent: word })),
        ),
      ),
    );
    const [isHost, isLobby] = [room.hostId === this.#playerId, room.phase === 'lobby'];
    this.#button('ready').textContent = me?.ready === true ? 'Not ready' : 'Ready';
    setEnabled(this.#button('ready'), isLobby);
    setEnabled(this.#button('start'), isHost && isLobby);
    setEnabled(this.#button('end'), isHost);
    leadTo(
      isLobby && room.players.length > 1
        ? isHost
          ? this.#button('start')
          : me?.ready === true
            ? undefined
            : this.#button('ready')
        : undefined,
      this.#root,
    );
    this.#part('colours').hidden = !isHost;
    this.#play.show(room, this.#playerId);
  }

  #button(act: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(`[data-act="${act}"]`)!;
  }

  async #paint(colour: string): Promise<void> {
    const played = this.#played;
    const result = await played?.mergeState({ colour });
    if (result?.ok === false && played === this.#played) this.#refused(explain(result.error));
  }
}
