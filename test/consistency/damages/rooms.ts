import { accountIdOf } from '../../../src/accounts/ids.ts';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { freshId } from '../../harness.ts';
import { ofAccount, ofCoins, queuedAlone, redis, room, service, type Damage, type Damages } from './data.ts';

const broken = (damage: (room: string) => Promise<unknown>): Damage => ({ kind: 'broken_room', lasting: () => room(damage) });

/** A room whose field was changed, or was lost without a value. */
const withField = (field: string, value?: string | number): Damage =>
  broken((key) => (value === undefined ? redis.hdel(key, field) : redis.hset(key, field, value)));

async function ownRoom(): Promise<{ code: string; id: string }> {
  const installId = freshId();
  return { code: (await service.post('/v1/rooms', { installId })).body.room.code, id: accountIdOf(installId) };
}

export const roomDamages: Damages = {
  'a room in a phase that does not exist': withField('phase', 'nonsense'),
  'a room whose time of creation is no time': withField('createdAt', 'nonsense'),
  'a room with a number of changes beyond all rooms': withField('seq', '9'.repeat(20)),
  'a room of which a seated player has no account': withField('p2:account'),
  'a room of which a seated player has no record': withField('p2'),
  'a room with a player whose seat was never given': withField('given', 1),
  'a room that seats a player twice': withField('players', 'p1 p2 p2'),
  'a room of which the host is nobody': withField('hostId', 'p9'),
  'a room with private parts of a player who left': withField('p7:private', '3 {}'),
  'a room whose state is newer than the room': withField('stateSeq', 99),
  'a room whose private parts are newer than the room': withField('privateSeq', 99),
  'a room with more players than seats': withField('maxPlayers', 1),
  'a room without a phase': withField('phase'),
  'a room whose state is cut off': withField('state', '{"a":'),
  "a room whose player's data is cut off": withField('p2.data', '[1'),
  'a room whose player is cut off': withField('p2', '"ready":fal'),
  'a room that never expires': broken((key) => redis.persist(key)),
  'an account that has two seats in a room': broken(async (key) => redis.hset(key, 'p2:account', (await redis.hget(key, 'p1:account'))!)),
  'a seat of which the set of its account is emptied': {
    kind: 'seat_not_listed',
    lasting: ofAccount(ownRoom, ({ code, id }) => redis.srem(roomKeys.seats(id, Date.now()), code)),
  },
  'a seat that was handed to an account which never took it': {
    kind: 'seat_not_listed',
    lasting: ofCoins([5], async (id) => redis.hset(roomKeys.room((await ownRoom()).code), 'p1:account', id)),
  },
  'a set of seats that names no room': {
    kind: 'unreadable_record',
    lasting: ofAccount(ownRoom, ({ id }) => redis.sadd(roomKeys.seats(id, Date.now()), 'no room')),
  },
  'a list of rooms with an entry that cannot be read': {
    kind: 'unreadable_record',
    async lasting() {
      await redis
        .multi()
        .hset('{listed:unreadable}:rooms', '1795348800000BCDFG', 'nonsense')
        .expire('{listed:unreadable}:rooms', 600)
        .exec();
      return 'list of rooms unreadable';
    },
  },
  'a room in the queue that never was': { kind: 'queue_without_document', mended: queuedAlone('rooms:due', 'BBBBB') },
  'a room in the index that never was, due later than any room lives': {
    kind: 'queue_without_document',
    async mended() {
      await redis.zadd(roomKeys.expiry, Date.now() + 8 * 86_400_000, 'BBBBB pebble-drop');
      return `queue ${roomKeys.expiry}`;
    },
  },
};
