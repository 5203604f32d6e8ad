import { admin, call, mayAct, pathWith, type Answer } from './console-calls.ts';
import { changeButton } from './console-change.ts';
import {
  addressForm,
  button,
  facts,
  field,
  hashOf,
  input,
  link,
  listed,
  row,
  type Part,
  section,
  table,
  time,
  type Asked,
  type Shown,
} from './console-parts.ts';
import { hands, ofOperators, players, roomFacts, seatsOf } from '../../shown/shown-rooms.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/** The open public rooms, and a form to find any room by its code. */
export async function roomsView({ query, operator, signal }: Asked): Promise<Shown> {
  const { rooms, nextCursor } = await call(pathWith('/v1/rooms', { game: operator.game, cursor: query.get('cursor') ?? undefined }), {
    signal,
  });
  const code = input('code', '', { required: true, pattern: '[A-Za-z]{5}', maxLength: 5 });
  const form = addressForm([['A room, by its code', code]], () => hashOf(['rooms', code.value.toUpperCase()]));
  const rows = (rooms as Answer[]).map((room) => [
    link(['rooms', room.code], room.code),
    room.game,
    `${Array.isArray(room.players) ? room.players.length : room.players} of ${room.maxPlayers}`,
    time(room.createdAt),
  ]);
  return {
    title: 'Rooms',
    parts: [
      form,
      section(
        'Open public rooms',
        table('Rooms', ['Code', 'Game', 'Players', 'Made (UTC)'], rows, 'No room is open to everybody.'),
        nextCursor === undefined ? '' : link(['rooms'], 'More', { cursor: nextCursor }),
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
  const live = make('div', {}, ...stateOf(found.room));
  const said = make('p', { className: 'hint' });
  said.setAttribute('role', 'status');
  const isOver = found.room.phase === 'ended';
  const act = (verb: string): Part => changeButton(`rooms ${verb}`, { code: found.room.code }, asked);
  const watch = button('Watch it live', () => {
    watch.remove();
    void follow(code, found.room.seq, { live, said, signal });
  });
  return {
    title: `Room ${code}`,
    parts: [
      section('What everybody sees', live, make('div', { className: 'row' }, isOver ? '' : watch, said)),
      section('Seats', facts(ofOperators(found)), seats(found, asked), row(act('pardon'), isOver ? '' : act('end'))),
      mayAct(operator, 'support') ? section('What single players see', privateForm(path)) : '',
    ],
  };
}

/** Names, data and the state come from users, so they are shown as plain text. */
function stateOf(room: Answer): HTMLElement[] {
  return [
    facts(roomFacts(room)),
    listed(players, room.players),
    make('pre', { className: 'code', tabIndex: 0, textContent: JSON.stringify(room.state, null, 2) }),
  ];
}

interface Place {
  readonly live: HTMLElement;
  readonly said: HTMLElement;
  readonly signal: AbortSignal;
}

/** Follows a room by long polls, as a client without WebSockets does, until another view is shown. */
async function follow(code: string, since: number, { live, said, signal }: Place): Promise<void> {
  said.textContent = 'Watching.';
  for (let seq = since; !signal.aborted;) {
    try {
      const { room } = await call(`/v1/rooms/${encodeURIComponent(code)}?since=${seq}&wait=25`, { signal });
      if (room.seq !== seq) live.replaceChildren(...stateOf(room));
      seq = room.seq as number;
      if (room.phase === 'ended') return void (said.textContent = 'The room has ended.');
    } catch (error) {
      if (signal.aborted) return;
      said.textContent = `${(error as Error).message} Trying again …`;
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

function seats({ room, seats: taken }: Answer, asked: Asked): HTMLElement {
  const { code, phase } = room;
  return listed(seatsOf(room), taken, {
    act: ({ playerId }: Answer) => (phase === 'ended' ? '' : changeButton('rooms kick', { code, player: playerId }, asked, playerId)),
  });
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
