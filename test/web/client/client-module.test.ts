import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import * as source from '../../../src/clients/javascript/client.ts';
import * as roomsSource from '../../../src/clients/javascript/rooms.ts';
import * as savesSource from '../../../src/clients/javascript/saves.ts';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

const run = promisify(execFile);
/** The address of a served module, beside which are those that it imports when they are needed. */
const addressOf = (name: string): string => new URL(`../../../src/web/client/bundle/${name}.js`, import.meta.url).href;

test('the served modules export what their sources export, and work together', async () => {
  const client = (await import(/* @vite-ignore */ addressOf('client'))) as typeof source;
  const rooms = (await import(/* @vite-ignore */ addressOf('rooms'))) as typeof roomsSource;
  const { savesOf } = (await import(/* @vite-ignore */ addressOf('saves'))) as typeof savesSource;
  expect(Object.keys(client)).toEqual(Object.keys(source));
  expect(Object.keys(rooms).sort()).toEqual(Object.keys(roomsSource).sort());
  const ada = client.coinop({ url: service.url, store: null, installId: freshId() });
  expect(await ada.coins.credit({ coins: 5 })).toEqual({ ok: true, balanceAfterCoins: 5 });
  expect(await ada.coins.debit({ coins: 9 })).toMatchObject({ ok: false, error: { code: 'insufficient_coins', balanceCoins: 5 } });
  expect(await savesOf(ada).save({ game: 'tetris', name: 'slot', data: 1 })).toMatchObject({ ok: true, version: 1 });
  const opened = await ada.rooms.create({ name: 'Ada' });
  if (!opened.ok) throw new Error(opened.error.code);
  const seen: string[] = [];
  const watch = ada.watchRoom(opened.room.code, ({ phase }) => seen.push(phase));
  await expect.poll(() => seen.at(-1)).toBe('lobby');
  const room = rooms.playRoom(ada, opened.room.code);
  expect(await room.mergeState({ round: 1 })).toMatchObject({ ok: true });
  expect(room.state).toEqual({ round: 1 });
  await ada.rooms.end({ code: opened.room.code });
  expect(await watch.ended).toEqual({ code: 'finished' });
  ada.close();
});

test('a Node process ends once its watches are closed, and there is no warning', async () => {
  const script = `
    import { coinop } from ${JSON.stringify(addressOf('client'))};
    const client = coinop({ url: '${service.url}', store: null, installId: '${freshId()}' });
    const { room } = await client.rooms.create();
    await new Promise((resolve) => client.watchRoom(room.code, resolve));
    await client.coins.credit({ coins: 1 });
    client.close();
    console.log('closed');
  `;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], { timeout: 120_000 });
  expect([stdout, stderr]).toEqual(['closed\n', '']);
});

test('the modules are built from the current sources', async () => {
  const script = fileURLToPath(new URL('../../../scripts/build-client.mjs', import.meta.url));
  expect(await run(process.execPath, [script, '--check'])).toEqual({ stdout: '', stderr: '' });
});
