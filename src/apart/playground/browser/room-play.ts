import type { Room } from '/client.js';
import type { ActResult, PlayedRoom } from '/rooms.js';
import { make, name, onPress, onSubmit, setEnabled } from '../../../web/browser/dom.ts';
import { explain } from '../../../web/browser/problems.ts';

/** The number of columns of the board on which both players walk. */
const COLUMNS = 8;

/** The number of rows of the board. */
const ROWS = 3;

const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = { left: [-1, 0], up: [0, -1], down: [0, 1], right: [1, 0] };

interface Place {
  readonly x: number;
  readonly y: number;
}

/** The state with which this page opens a room. The trees in it do not change, so they need not be sent again. */
export const newState: { readonly trees: readonly Place[] } = {
  trees: [
    { x: 5, y: 0 },
    { x: 6, y: 0 },
    { x: 7, y: 0 },
    { x: 3, y: 1 },
    { x: 7, y: 1 },
    { x: 6, y: 2 },
    { x: 4, y: 2 },
    { x: 5, y: 2 },
    { x: 7, y: 2 },
  ],
};

/** The acts that both the host and other players can do on their screen: walk, which changes the player's own data, and send messages. */
export class Play {
  readonly #root: HTMLElement;
  readonly #say: (text: string) => void;
  #played: PlayedRoom | undefined;
  #playerId: string | undefined;
  /** The player's position after the last step. The room may not show that step yet. */
  #at: Place | undefined;

  constructor(root: HTMLElement, say: (text: string) => void) {
    this.#root = root;
    this.#say = say;
    for (const button of root.querySelectorAll<HTMLElement>('[data-step]'))
      onPress(button, () => this.#walk(STEPS[button.dataset['step']!]!));
    onSubmit(this.#part('message'), () => this.#send());
    this.#text.addEventListener('input', () => this.#showSend());
    this.#showSend();
  }

  #part(part: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(`[data-part="${part}"]`)!;
  }

  get #text(): HTMLInputElement {
    return this.#part('text') as HTMLInputElement;
  }

  #showSend(): void {
    setEnabled(this.#part('message').querySelector('button')!, this.#text.value.trim() !== '');
  }

  enter(played: PlayedRoom): void {
    this.#played = played;
    this.#at = undefined;
    played.on('message', ({ from, data }) => {
      const sender = played.players.find(({ id }) => id === from)?.name ?? 'Somebody';
      this.#part('heard').replaceChildren(name(sender), `: ${typeof data === 'string' ? data : JSON.stringify(data)}`);
    });
  }

  /** Shows the positions of the players in the room. */
  show(room: Room, playerId: string | undefined): void {
    this.#playerId = playerId;
    this.#part('play').hidden = room.phase === 'ended';
    this.#part('board').replaceChildren(
      ...treesIn(room.state).map(({ x, y }) => {
        const tree = make('li', { className: 'tree', textContent: '♣' });
        tree.setAttribute('aria-hidden', 'true');
        tree.style.gridArea = `${y + 1} / ${x + 1}`;
        return tree;
      }),
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

  leave(): void {
    this.#played = this.#at = undefined;
    this.#part('play').hidden = true;
    this.#part('board').replaceChildren();
    this.#part('heard').textContent = '';
  }

  #walk([right, down]: readonly [number, number]): void {
    const played = this.#played;
    if (played === undefined) return;
    const seat = played.players.findIndex(({ id }) => id === this.#playerId);
    const { x, y } = this.#at ?? placeOf(played.players[seat]?.data, seat);
    const next = { x: within(x + right, COLUMNS), y: within(y + down, ROWS) };
    if (treesIn(played.state).some((tree) => tree.x === next.x && tree.y === next.y)) return this.#say('A tree stands there.');
    this.#at = next;
    // The step is not awaited, because more steps may follow before its answer, or while the connection is down.
    void played.set(next).then((result) => this.#isDone(played, result) || (this.#at = undefined));
  }

  async #send(): Promise<void> {
    const text = this.#text.value.trim();
    const played = this.#played;
    if (played === undefined || text === '') return;
    if (!this.#isDone(played, await played.send(text))) return;
    this.#text.value = '';
    this.#showSend();
  }

  /** Explains why an act was refused, unless the player has left the room. */
  #isDone(played: PlayedRoom, result: ActResult): boolean {
    if (!result.ok && played === this.#played) this.#say(explain(result.error));
    return result.ok;
  }
}

/** The trees in the state. The state may be any JSON, because another client may have opened the room. */
function treesIn(state: unknown): Place[] {
  const { trees } = (state ?? {}) as { trees?: unknown };
  return Array.isArray(trees) ? trees.map((tree) => placeOf(tree, 0)) : [];
}

/** The place in a player's data. The data may be any JSON, because another client may have written it. */
function placeOf(data: unknown, seat: number): Place {
  const { x = 0, y = seat } = (typeof data === 'object' && data !== null ? data : {}) as Partial<Record<'x' | 'y', number>>;
  return { x: within(Number(x), COLUMNS), y: within(Number(y), ROWS) };
}

function within(at: number, count: number): number {
  return Math.min(count - 1, Math.max(0, Math.trunc(at) || 0));
}
