import { admin, Failed, mayAct, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import { filterOf } from './console-fields.ts';
import {
  addressForm,
  button,
  damaged,
  facts,
  field,
  hashOf,
  input,
  link,
  listed,
  row,
  section,
  type Asked,
  type Part,
  type Shown,
} from './console-parts.ts';
import { hands, ownData, roomDetails, roomFacts, roomRows, sittings, whoIsThere, withData, type Sitting } from '../../shown/shown-rooms.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/** All rooms, and a form to find any room by its code. */
export async function roomsView(asked: Asked): Promise<Shown> {
  const { query, signal } = asked;
  const { form, sent, typed } = filterOf('rooms list', ['rooms'], asked);
  const cursor = query.get('cursor') ?? undefined;
  const { rooms, nextCursor } = await admin('/rooms', { ...sent, limit: '50', cursor }, signal);
  const code = input('code', '', { required: true, pattern: '[A-Za-z\\- ]{5,9}', maxLength: 9, placeholder: 'BCDFG' });
  return {
    title: 'Rooms',
    parts: [
      addressForm([['A room, by its code', code]], () => hashOf(['rooms', code.value.replaceAll(/[ -]/g, '').toUpperCase()])),
      form,
      section(
        'All rooms, the newest first',
        listed(roomRows, rooms, nextCursor === undefined ? {} : { none: 'No such room among those that were read: there may be more.' }),
        row(
          cursor === undefined ? '' : link(['rooms'], 'Newest', typed),
          nextCursor === undefined ? '' : link(['rooms'], 'Older', { ...typed, cursor: nextCursor }),
        ),
      ),
    ],
  };
}

export async function roomView(asked: Asked): Promise<Shown> {
  const {
    words: [code = ''],
    operator,
    signal,
  } = asked;
  const path = `/rooms/${encodeURIComponent(code)}`;
  const found = await admin(path, {}, signal);
  const page = new RoomPage(found, asked);
  page.follow(() => admin(path, {}, signal));
  return {
    title: `Room ${found.room.code}`,
    parts: [
      ...damaged(found),
      section('Now', page.bar, page.facts, page.acts),
      section('Who is there', page.seats),
      section('State', page.state, page.data),
      section('More', page.details),
      mayAct(operator, 'support') ? section('What single players see', privateForm(path)) : '',
    ],
  };
}

/** The interval at which the page asks for the room, in milliseconds. */
const POLL_MS = 1000;

/** The longest wait after failures, in milliseconds. */
const MOST_WAIT_MS = 30_000;

/** The acts a second are counted over this time, in milliseconds. */
const WINDOW_MS = 10_000;

/** A room that is asked for again and again while its page is open and visible. */
class RoomPage {
  readonly bar: HTMLElement;
  readonly facts = make('div');
  readonly details = make('div');
  readonly data = make('div');
  readonly acts: HTMLElement;
  readonly seats = make('div');
  readonly state = make('pre', { className: 'code', tabIndex: 0 });
  readonly #asked: Asked;
  readonly #said = make('p', { className: 'hint' });
  readonly #pause = button('Pause', () => this.#press());
  readonly #end: HTMLButtonElement | '';
  /** Answers of the last WINDOW_MS. */
  #samples: { readonly at: number; readonly seq: number; readonly messages: number }[] = [];
  readonly #createdAt: string | undefined;
  #isPaused = false;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(found: Answer, asked: Asked) {
    this.#asked = asked;
    const { code, createdAt } = found.room;
    this.#createdAt = createdAt as string | undefined;
    this.#said.setAttribute('role', 'status');
    this.state.setAttribute('aria-label', 'State of the game');
    this.#end = changeButton('rooms end', { code }, asked);
    this.bar = row(this.#pause, this.#said);
    this.acts = row(this.#end, changeButton('rooms pardon', { code }, asked));
    this.#show(found);
  }

  /** Asks again until another view is shown, or the room has ended. */
  follow(ask: () => Promise<Answer>): void {
    if (this.#isOver) return;
    this.#said.textContent = 'Live.';
    const wake = (): void => this.#wake();
    document.addEventListener('visibilitychange', wake, { signal: this.#asked.signal });
    this.#asked.signal.addEventListener('abort', wake);
    void this.#follow(ask);
  }

  async #follow(ask: () => Promise<Answer>): Promise<void> {
    const { signal, again } = this.#asked;
    for (let failures = 0; ;) {
      await this.#rest(Math.min(POLL_MS * 2 ** failures, MOST_WAIT_MS));
      if (signal.aborted || this.#isOver) return;
      if (this.#isPaused || document.hidden) continue;
      try {
        const found = await ask();
        if (signal.aborted) return;
        this.#show(found);
        if (failures > 0 && !this.#isOver) this.#said.textContent = 'Live.';
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Failed && error.isSignedOut) return again();
        if (error instanceof Failed && error.code === 'room_not_found') return this.#finish('This room does not exist any more.');
        failures++;
        this.#said.textContent = `${(error as Error).message} Trying again …`;
      }
    }
  }

  /** Waits. A paused or hidden page waits until somebody comes back to it. */
  #rest(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#isPaused || document.hidden ? undefined : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #press(): void {
    this.#isPaused = !this.#isPaused;
    this.#pause.textContent = this.#isPaused ? 'Go on' : 'Pause';
    this.#said.textContent = this.#isPaused ? 'Paused.' : 'Live.';
    this.#samples = [];
    this.#wake();
  }

  #show(found: Answer): void {
    const { room } = found;
    // Codes are given out again. The page must not show another room under the name of this one. A damaged room may lack any member.
    if ((room.createdAt ?? this.#createdAt) !== this.#createdAt)
      return this.#finish('This room has expired, and its code belongs to another room now.');
    const at = performance.now();
    const { seq, messages = 0 } = { ...found, ...room };
    this.#samples = this.#samples.filter((sample) => at - sample.at <= WINDOW_MS);
    if (seq !== undefined) this.#samples.push({ at, seq, messages });
    this.#put(this.facts, facts([...roomFacts(found), ['Acts a second', this.#rate()]]));
    this.#put(this.seats, listed(whoIsThere, sittings(found), { act: ({ player }: Sitting) => this.#kick(room, player.id) }));
    this.#put(this.details, facts(roomDetails(found)));
    this.#put(this.data, withData(room).length === 0 ? make('div') : listed(ownData, withData(room)));
    const text = JSON.stringify(room.state ?? null, null, 2);
    if (this.state.textContent !== text) this.state.textContent = text;
    if (room.phase === 'ended') this.#finish('The room has ended.');
  }

  #put(place: HTMLElement, made: HTMLElement): void {
    if (place.firstElementChild === null) place.append(made);
    else renew(place.firstElementChild, made);
  }

  #kick({ code, phase }: Answer, player: string): Part {
    return phase === 'ended' ? '' : changeButton('rooms kick', { code, player }, this.#asked, player);
  }

  #finish(text: string): void {
    this.#isOver = true;
    this.#said.textContent = text;
    this.#pause.remove();
    if (this.#end !== '') this.#end.remove();
  }

  /** Undefined until the page has two answers. */
  #rate(): string | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || first === last) return this.#isOver ? undefined : 'counting …';
    const seconds = (last.at - first.at) / 1000;
    const inOne = (count: number): string => (count / seconds).toFixed(1);
    return `${inOne(last.seq - first.seq)} changes, ${inOne(last.messages - first.messages)} messages`;
  }
}

/**
 * Makes an element look like another one. Parts that look the same stay as they are, so that a person can select text in them, and buttons
 * keep the focus.
 */
function renew(old: Element, made: Element): void {
  if (old.isEqualNode(made)) return;
  const hasElementsOnly = [old, made].every(({ children, childNodes }) => children.length === childNodes.length);
  const isAlike = old.cloneNode().isEqualNode(made.cloneNode()) && old.children.length === made.children.length;
  if (!hasElementsOnly || !isAlike) return old.replaceWith(made);
  const parts = [...made.children];
  for (const [index, part] of [...old.children].entries()) renew(part, parts[index]!);
}

/** The form for private parts. The log keeps the read, with its reason. */
function privateForm(path: string): HTMLElement {
  const reason = input('reason', '', { required: true, maxLength: 120 });
  const shown = make('div', {});
  const form = make(
    'form',
    { className: 'row filter' },
    field('Why you look, for the log', reason),
    make('button', { type: 'submit', className: 'small', textContent: 'Show the hands' }),
  );
  onSubmit(form, async () => {
    try {
      const found = await admin(path, { private: 'true', reason: reason.value });
      shown.replaceChildren(listed(hands, found.seats));
    } catch (error) {
      shown.replaceChildren(make('p', { textContent: (error as Error).message }));
    }
  });
  return make('div', {}, form, shown);
}
