import { pino } from 'pino';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { writtenKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { RoomIndex } from '../../../../src/features/rooms/room-index.ts';
import { ListWriter } from '../../../../src/features/rooms/list/list-writer.ts';
import { Matches } from '../../../../src/features/rooms/match/matches.ts';
import type { ScriptConnection } from '../../../../src/redis/script-runner.ts';
import { callerFrom } from '../../../../src/server/identity/caller.ts';
import { audited } from '../../../consistency/audited.ts';
import { DyingScripts } from '../../../dying-scripts.ts';
import { forFile, freshId, start, type TestReply } from '../../../harness.ts';
import { startRedis } from '../../../own-redis.ts';
import { testConfig } from '../../../environment.ts';

/** The process that stays. */
const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));

const ask = (game: string, installId = freshId()): Promise<TestReply> =>
  service.post('/v1/rooms/match', { installId, game, maxPlayers: 4, startWhenFull: true });

/** A match on a process that dies before the call of this number. @returns false if the match ended before the process would have died */
async function matchAndDie(game: string, installId: string, call: number, losesAnswer: boolean): Promise<boolean> {
  const { redis } = service.service;
  const connection: ScriptConnection = { call: (command, words) => redis.call(command, ...words) };
  const scripts = new DyingScripts(connection, service.now);
  const parts = { scripts, config: testConfig(), now: service.now, log: pino({ level: 'silent' }) };
  const listWriter = new ListWriter({ ...parts, metrics: { count() {}, gauge() {} } });
  const roomIndex = new RoomIndex(parts);
  const matches = new Matches({ ...parts, listWriter, roomIndex, metrics: { countBy() {} } });
  scripts.dieBefore(call, losesAnswer);
  const caller = callerFrom({ address: '127.0.0.1' }, accountIdOf(installId), undefined, undefined);
  const wanted = {
    game,
    tags: {},
    name: undefined,
    minPlayers: 1,
    maxPlayers: 4,
    startWhenFull: true,
    writers: 'host',
    stateText: '{}',
  } as const;
  await matches.match(caller, wanted).catch((error: Error) => expect(error.message).toBe('the process died'));
  // The match has sent its remaining commands together with its answer.
  await redis.ping();
  await Promise.all([listWriter.close(), roomIndex.close()]);
  return scripts.calls.length >= (losesAnswer ? call - 1 : call);
}

const seatsOf = (replies: readonly TestReply[]): Set<string> =>
  new Set(replies.map(({ body }) => `${body.room.code} ${body.you.playerId}`));

const reservedIn = async (game: string) => {
  const { reserved, taken } = writtenKeys(game);
  return [await service.service.redis.zcard(reserved), await service.service.redis.hgetall(taken)];
};

test.each([
  ['asks again', false],
  ['asks again, and the last answer is lost', true],
  ['never comes back', false],
  ['never comes back, and the last answer is lost', true],
])(
  'a process that dies at any step of a match seats nobody twice, and keeps no seat reserved: its player %s',
  async (what, losesAnswer) => {
    let call = 1;
    for (; ; call++) {
      const [game, installId] = [freshId('game').toLowerCase(), freshId()];
      if (!(await matchAndDie(game, installId, call, losesAnswer))) break;
      const others = [ask(game), ask(game), ask(game)];
      if (what.startsWith('never')) {
        await Promise.all(others);
        service.advance(5100);
      }
      // Either the dead process had seated its player, or the fourth player has that seat.
      const fourth = ask(game, what.startsWith('never') ? undefined : installId);
      const replies = await Promise.all([...others, fourth]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(seatsOf(replies).size, `step ${call}`).toBe(4);
      const { room } = (await service.get(`/v1/rooms/${replies[0]!.body.room.code}`)).body;
      expect([room.players.length, room.phase], `step ${call}`).toEqual([4, 'playing']);
      await expect.poll(() => reservedIn(game), { message: `step ${call}` }).toEqual([0, {}]);
    }
    // The calls check the caller, reserve, put the room into the index, take the seat, and write both lists.
    expect(call - 1).toBe(losesAnswer ? 7 : 6);
    expect((await audited(own.location)).findings).toEqual([]);
  },
);
