import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sleep, start } from '../harness.ts';
import { startChild } from '../realtime/child.ts';
import { eventually } from '../realtime/watcher.ts';
import { all, Lines, roomy, type Line } from './connection-lines.ts';

describe('CONNECTIONS_PER_ADDRESS', () => {
  const settings = { ...roomy, CONNECTIONS_PER_ADDRESS: '10' };
  const isClosed = (line: Line): boolean => line.isClosed;

  /** Opens 14 connections, and waits until the service has closed four. */
  async function openFourteen(lines: Lines, address: string): Promise<Line[]> {
    const opened: Line[] = [];
    for (let index = 0; index < 14; index++) opened.push(await lines.open(address));
    await eventually(() => opened.slice(10).every(isClosed));
    return opened;
  }

  test('each address may have that many connections; the service closes those beyond', async () => {
    await using service = await start({ settings });
    using lines = new Lines(service);
    const expected = [...Array(10).fill(false), ...Array(4).fill(true)];
    expect((await openFourteen(lines, '127.0.0.2')).map(isClosed)).toEqual(expected);
    expect((await openFourteen(lines, '127.0.0.3')).map(isClosed)).toEqual(expected);
    expect((await service.get('/health')).status).toBe(200);
  });

  test('closed connections make room again, but only for their own address', async () => {
    await using service = await start({ settings });
    using lines = new Lines(service);
    const opened = await openFourteen(lines, '127.0.0.2');
    await openFourteen(lines, '127.0.0.3');
    for (const { socket } of opened) socket.destroy();
    // The service learns of them with its next look at the kernel's list.
    await eventually(async () => (await lines.ask('127.0.0.2')) === 200);
    const another = await lines.open('127.0.0.3');
    await eventually(() => another.isClosed);
  });

  test('the connections of a trusted proxy are not counted', async () => {
    await using service = await start({ settings: { ...settings, TRUSTED_PROXIES: '127.0.0.2' } });
    using lines = new Lines(service);
    const opened = await all(30, () => lines.open('127.0.0.2'));
    expect((await service.get('/health')).status).toBe(200);
    // Longer than the pause between two looks at the kernel's list: nothing may happen in this time.
    await sleep(300);
    expect(opened.filter(isClosed)).toEqual([]);
  });

  test('two workers hold the bound together', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-connections-'));
    const child = await startChild({ ...roomy, WORKERS: '2', DATA_DIR: folder, CONNECTIONS_PER_ADDRESS: '20' });
    onTestFinished(async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    using lines = new Lines(child);
    const opened = await all(80, () => lines.open('127.0.0.2'));
    const openCount = () => opened.filter((line) => !isClosed(line)).length;
    // Within 5 s: uWS by itself closes connections that ask for nothing after 10 s.
    await eventually(() => openCount() <= 20, 5000);
    expect(openCount()).toBeGreaterThanOrEqual(10);
  });
});
