import { coinop } from '/client.js';
import { watchLobby, type ListedRoom } from '/rooms.js';
import { byId, make, onPress, setEnabled } from '../../../web/browser/dom.ts';

/** The game of all rooms of the playground, in every window. */
export const GAME = 'playground';

/** The most rooms that the list shows. */
const MOST_SHOWN = 3;

/** One of the two players' screens on the page, from which a person can join a room. */
interface Joiner {
  readonly name: string;
  readonly isFree: boolean;
  joinRoom(code: string): Promise<void>;
}

/**
 * Shows the newest rooms that can be joined, including rooms that other windows opened.
 * @returns shows which of the screens can join
 */
export function showOpenRooms(screens: readonly Joiner[]): () => void {
  const list = byId('room-open');
  const rows = new Map<string, Row>();
  // A client without `wire`: the requests for the list would push the players' messages out of the log on the page.
  watchLobby(coinop({ url: location.origin, store: null }), { game: GAME }, (rooms) => {
    const shown = rooms.slice(0, MOST_SHOWN);
    const codes = new Set(shown.map(({ code }) => code));
    const hadFocus = list.contains(document.activeElement);
    for (const [code, { element }] of rows) {
      if (codes.has(code)) continue;
      element.remove();
      rows.delete(code);
    }
    for (const room of shown) {
      const row = rows.get(room.code) ?? new Row(room.code, screens);
      row.show(room);
      rows.set(room.code, row);
    }
    // A row that is already in its place is not moved, because moving it would take the focus from its button.
    for (const [place, { code }] of shown.entries()) {
      const { element } = rows.get(code)!;
      if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
    }
    if (hadFocus && !list.contains(document.activeElement)) list.focus({ preventScroll: true });
  });
  return () => rows.forEach((row) => row.showWhoCanJoin());
}

class Row {
  readonly element: HTMLElement;
  readonly #players = make('span');
  readonly #buttons: ReadonlyMap<Joiner, HTMLElement>;

  constructor(code: string, screens: readonly Joiner[]) {
    this.#buttons = new Map(
      screens.map((screen) => {
        const button = make('button', { type: 'button', className: 'small', textContent: `${screen.name} joins` });
        button.setAttribute('aria-label', `${screen.name} joins ${code}`);
        onPress(button, () => screen.joinRoom(code));
        return [screen, button];
      }),
    );
    this.element = make('li', {}, make('b', { textContent: code }), this.#players, ...this.#buttons.values());
    this.showWhoCanJoin();
  }

  showWhoCanJoin(): void {
    for (const [screen, button] of this.#buttons) setEnabled(button, screen.isFree);
  }

  show({ players, maxPlayers }: ListedRoom): void {
    this.#players.textContent = `${players}/${maxPlayers}`;
  }
}
