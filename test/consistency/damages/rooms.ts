import { accountIdOf } from '../../../src/accounts/ids.ts';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, HOUR_MS, player, redis, room, service, type Damages } from './data.ts';

export const roomDamages: Damages = {
  'a room of which a seated player has no account': {
    make: () => room(async (room) => void (await redis.hdel(room, 'p2:account'))),
    kind: 'broken_room',
  },
  'a room of which a seated player has no record': {
    make: () => room(async (room) => void (await redis.hdel(room, 'p2'))),
    kind: 'broken_room',
  },
  'a room with a player whose seat was never given': {
    make: () => room(async (room) => void (await redis.hset(room, 'given', 1))),
    kind: 'broken_room',
  },
  'a room that seats a player twice': {
    make: () => room(async (room) => void (await redis.hset(room, 'players', 'p1 p2 p2'))),
    kind: 'broken_room',
  },
  'a room of which the host is nobody': {
    make: () => room(async (room) => void (await redis.hset(room, 'hostId', 'p9'))),
    kind: 'broken_room',
  },
  'a room with private parts of a player who left': {
    make: () => room(async (room) => void (await redis.hset(room, 'p7:private', '3 {}'))),
    kind: 'broken_room',
  },
  'a room whose state is newer than the room': {
    make: () => room(async (room) => void (await redis.hset(room, 'stateSeq', 99))),
    kind: 'broken_room',
  },
  'a room whose private parts are newer than the room': {
    make: () => room(async (room) => void (await redis.hset(room, 'privateSeq', 99))),
    kind: 'broken_room',
  },
  'a room with more players than seats': {
    make: () => room(async (room) => void (await redis.hset(room, 'maxPlayers', 1))),
    kind: 'broken_room',
  },
  'a room that never expires': {
    make: () => room(async (room) => void (await redis.persist(room))),
    kind: 'broken_room',
  },
  'a room without a phase': {
    make: () => room(async (room) => void (await redis.hdel(room, 'phase'))),
    kind: 'broken_room',
  },
  'a room whose state is cut off': {
    make: () => room(async (room) => void (await redis.hset(room, 'state', '{"a":'))),
    kind: 'broken_room',
  },
  "a room whose player's data is cut off": {
    make: () => room(async (room) => void (await redis.hset(room, 'p2.data', '[1'))),
    kind: 'broken_room',
  },
  'a room whose player is cut off': {
    make: () => room(async (room) => void (await redis.hset(room, 'p2', '"ready":fal'))),
    kind: 'broken_room',
  },
  'an account that has two seats in a room': {
    make: () => room(async (room) => void (await redis.hset(room, 'p2:account', (await redis.hget(room, 'p1:account'))!))),
    kind: 'broken_room',
  },
  'a seat of which the set of its account is emptied': {
    async make() {
      const installId = freshId();
      const { code } = (await service.post('/v1/rooms', { installId })).body.room;
      const id = accountIdOf(installId);
      await redis.srem(roomKeys.seats(id, Date.now()), code);
      return `account ${id}`;
    },
    kind: 'seat_not_listed',
  },
  'a seat that was handed to an account which never took it': {
    async make() {
      const [installId, id] = [freshId(), await accountWith([5])];
      const { code } = (await service.post('/v1/rooms', { installId })).body.room;
      await redis.hset(roomKeys.room(code), 'p1:account', id);
      return `account ${id}`;
    },
    kind: 'seat_not_listed',
  },
  'a room in the queue that never was': {
    async make() {
      await redis.zadd('rooms:due', Date.now() + 24 * HOUR_MS, 'BBBBB');
      return 'queue rooms:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
};
