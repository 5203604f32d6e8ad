// What must and must not compile for games that play in rooms. Only `tsc` reads this file.
import { coinop } from '../../src/clients/javascript/client.ts';
import { listRooms, playRoom, quickMatch, watchBoard, watchLobby } from '../../src/clients/javascript/rooms.ts';
import { coinopServer } from '../../src/clients/javascript/server.ts';

const client = coinop({ url: 'https://coinop.example' });

interface Chess {
  state: { board: string[]; turn: 'white' | 'black'; clock: { white: number; black: number } };
  data: { x: number; y: number };
  private: string[];
  message: { text: string };
}

async function typed(): Promise<void> {
  const room = playRoom<Chess>(client, 'BCDFG');
  room.on('change', ({ state, players, phase, me }) => {
    state.board.join();
    me?.private?.join();
    // @ts-expect-error: there may be no seat
    void me.id;
    room.now().toFixed();
    void [players[0]?.data?.x.toFixed(), phase === 'playing'];
    // @ts-expect-error: a player's data is null before it is set
    void players[0]!.data.x;
    // @ts-expect-error: no other player sees it
    void players[0]!.private;
  });
  room.on('message', ({ n, from, data }) => void [n.toFixed(), from.trim(), data.text.trim()]);
  room.on('refused', ({ code }, { action }) => void (code === 'not_writer' && action.trim()))();
  // @ts-expect-error: there is no such event
  room.on('changed', () => {});

  await room.set({ x: 1, y: 2 });
  // @ts-expect-error: own data has a y
  await room.set({ x: 1 });
  // @ts-expect-error: x is a number
  await room.merge({ x: '3' });
  await room.mergeState({ clock: { white: 7 } }, { ifStateSeq: 3 });
  // @ts-expect-error: nobody's turn is red
  await room.mergeState({ turn: 'red' });
  await room.deal({ p1: ['king'] }, { merge: { turn: 'white' } });
  // @ts-expect-error: the state is replaced or merged, not both
  await room.deal({}, { merge: {}, state: { board: [], turn: 'white', clock: { white: 1, black: 1 } } });
  // @ts-expect-error: a message has a text
  await room.send('hello');
  await room.act('settings', { maxPlayers: 3, tags: { mode: 'duel' } });
  // @ts-expect-error: a player is needed
  await room.act('kick');
  // @ts-expect-error: a join returns a seat, and acts need the seat
  await room.act('join');

  const moved = await room.set({ x: 1, y: 1 });
  if (moved.ok) moved.seq.toFixed();
  else void (moved.error.code === 'queue_full' || moved.error.code === 'not_in_room');
  // @ts-expect-error: data of a seat is not refused for a stale state
  void (!moved.ok && moved.error.code === 'stale_state');
  const written = await room.setState({ board: [], turn: 'black', clock: { white: 1, black: 1 } });
  if (!written.ok && written.error.code === 'stale_state') written.error.stateSeq.toFixed();
  // @ts-expect-error: the result has to be checked first
  void moved.seq;
  room.me?.private?.map((card) => card.trim());
  // @ts-expect-error: there may be no seat
  void room.me.id;
  // @ts-expect-error: only the client changes the shown data
  room.state = undefined;

  const plain = playRoom(client, 'BCDFG');
  await plain.mergeState({ any: 'thing' });
  // @ts-expect-error: the state of a game without types is unknown
  void plain.state.any;

  const open = await listRooms(client, { game: 'chess', tags: { mode: 'duel', level: 3, ranked: true }, limit: 5 });
  // @ts-expect-error: the reply has to be checked first
  void open.rooms;
  watchBoard(client, 'chess', (top) => top.map(({ rank, name, score, playerId }) => `${rank + score} ${name} ${playerId}`)).close();
  // @ts-expect-error an entry does not tell its account
  watchBoard(client, 'chess', (top) => top.map(({ accountId }) => accountId));
  // @ts-expect-error: a tag is a text, a number or a boolean
  watchLobby(client, { tags: { mode: ['duel'] } }, () => {});
  const match = await quickMatch<Chess>(client, { game: 'chess', tags: { mode: 'duel' }, maxPlayers: 2, startWhenFull: true });
  if (match.ok) match.room.on('change', ({ state }) => void (match.created && state.board.join()));
  // @ts-expect-error: a match needs a game
  await quickMatch(client, { tags: {} });
  // @ts-expect-error: the client names the caller
  await quickMatch(client, { game: 'chess', installId: 'install-0001' });

  const server = coinopServer({ url: 'https://coinop.example', key: 'coinop_sk_…' });
  await server.createRoom({ game: 'chess', writers: 'server' });
  const served = server.playRoom<Chess>('BCDFG');
  await served.deal({ p1: ['king'] });
  // @ts-expect-error: a server has no seat, and so no data
  await served.set({ x: 1, y: 1 });
}
void typed;
