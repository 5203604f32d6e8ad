import type { Client, Room } from '/client.js';
import { make, name, onPress, onSubmit } from './dom.ts';
import { explain } from './problems.ts';

/** Squares of the board that both players walk on. */
const COLUMNS = 8;
const ROWS = 3;

const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = { left: [-1, 0], up: [0, -1], down: [0, 1], right: [1, 0] };

interface Place {
  readonly x: number;
  readonly y: number;
}

/** What both players do in a room, whoever is its host: each walks with data of its own, and each sends messages. */
export class Play {
  readonly #root: HTMLElement;
  readonly #client: Client;
  readonly #say: (text: string) => void;
  #room: Room | undefined;
  #playerId: string | undefined;
  /** Where the player stands, also before the room shows the last step. */
  #at: Place | undefined;

  constructor(root: HTMLElement, client: Client, say: (text: string) => void) {
    this.#root = root;
    this.#client = client;
    this.#say = say;
    for (const button of root.querySelectorAll<HTMLElement>('[data-step]'))
      onPress(button, () => this.#walk(STEPS[button.dataset['step']!]!));
    onSubmit(this.#part('message'), () => this.#send());
  }

  #part(part: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(`[data-part="${part}"]`)!;
  }

  /** Shows where the players of the room stand. */
  show(room: Room, playerId: string | undefined): void {
    this.#room = room;
    this.#playerId = playerId;
    this.#part('play').hidden = room.phase === 'ended';
    this.#part('board').replaceChildren(
      ...room.players.map((player, seat) => {
        const { x, y } = placeOf(player.data, seat);
        const initial = make('span', { textContent: [...player.name][0]! });
        initial.setAttribute('aria-hidden', 'true');
        const told = make('span', { className: 'hidden' }, name(player.name), ` in column ${x + 1}, row ${y + 1}`);
        const token = make('li', { className: player.id === playerId ? 'token me' : 'token' }, initial, told);
        token.style.gridArea = `${y + 1} / ${x + 1}`;
        return token;
      }),
    );
  }

  /** A message of the channel, as it came. */
  take(text: string): void {
    const { type, from, data } = JSON.parse(text) as { type: string; from?: string; data?: unknown };
    if (type !== 'message') return;
    const sender = this.#room?.players.find(({ id }) => id === from)?.name ?? 'Somebody';
    this.#part('heard').replaceChildren(name(sender), `: ${typeof data === 'string' ? data : JSON.stringify(data)}`);
  }

  leave(): void {
    this.#room = this.#at = undefined;
    this.#part('play').hidden = true;
    this.#part('board').replaceChildren();
    this.#part('heard').textContent = '';
  }

  async #walk([right, down]: readonly [number, number]): Promise<void> {
    const room = this.#room;
    if (room === undefined) return;
    const seat = room.players.findIndex(({ id }) => id === this.#playerId);
    const { x, y } = this.#at ?? placeOf(room.players[seat]?.data, seat);
    this.#at = { x: within(x + right, COLUMNS), y: within(y + down, ROWS) };
    const reply = await this.#client.rooms.data({ code: room.code, data: this.#at });
    if (reply.ok) return;
    this.#at = undefined;
    this.#say(explain(reply.error));
  }

  async #send(): Promise<void> {
    const field = this.#part('text') as HTMLInputElement;
    const text = field.value.trim();
    if (this.#room === undefined || text === '') return;
    const reply = await this.#client.rooms.message({ code: this.#room.code, data: text });
    if (!reply.ok) return this.#say(explain(reply.error));
    field.value = '';
  }
}

/** Data of a player may be anything: another client may have written it. */
function placeOf(data: unknown, seat: number): Place {
  const { x = 0, y = seat } = (typeof data === 'object' && data !== null ? data : {}) as Partial<Record<'x' | 'y', number>>;
  return { x: within(Number(x), COLUMNS), y: within(Number(y), ROWS) };
}

function within(at: number, count: number): number {
  return Math.min(count - 1, Math.max(0, Math.trunc(at) || 0));
}
