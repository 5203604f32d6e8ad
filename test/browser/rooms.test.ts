import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { example, extra, journey, noBrowser, press, servePages } from './chromium.ts';
import { fixedPort, startMain, type OwnService } from './own-service.ts';
import { FAILED, inBrowser, shows } from './page-checks.ts';
import { freshId, sleep } from '../harness.ts';

/** The examples that play in rooms, each in two browsers, while the service and its Redis are killed. */
describe.skipIf(noBrowser)('in two browsers', () => {
  const browsers = [inBrowser(), inBrowser()] as const;
  const port = fixedPort();
  const url = `http://127.0.0.1:${port}`;
  const dataDir = mkdtempSync(join(tmpdir(), 'coinop-rooms-'));
  const documented = /## Play in a room\n\n```html\n([\s\S]*?)```/
    .exec(readFileSync(new URL('../../docs/clients/javascript.md', import.meta.url), 'utf8'))![1]!
    .replaceAll('https://coinop.example', url);
  let site: Awaited<ReturnType<typeof servePages>>;
  let main: OwnService;
  beforeAll(async () => {
    const names = ['chat', 'tic-tac-toe', 'race', 'cards', 'lobby'];
    site = await servePages(() => ({
      ...Object.fromEntries(names.map((name) => [`/${name}`, example(`${name}.html`, url)])),
      '/documented': documented,
    }));
    main = await startMain(dataDir, port);
  });
  afterAll(async () => {
    await main?.kill();
    await site?.[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const newPages = async (): Promise<[ada: Page, bob: Page]> => [await browsers[0].newPage(FAILED), await browsers[1].newPage(FAILED)];

  /** Ada and Bob at a page of the game. */
  async function both(game: string): Promise<[ada: Page, bob: Page]> {
    const [ada, bob] = await newPages();
    await ada.goto(`${site.origin}/${game}?name=Ada`);
    await bob.goto(`${site.origin}/${game}?name=Bob`);
    return [ada, bob];
  }

  /** Ada has opened a room of the game, and Bob has joined it. */
  async function two(game: string): Promise<[ada: Page, bob: Page]> {
    const [ada, bob] = await both(game);
    await press(ada, '#open');
    await shows(ada, '#room', /^[A-Z]{5}$/);
    await bob.fill('#code', (await ada.textContent('#room'))!);
    await press(bob, '#join');
    for (const page of [ada, bob]) await shows(page, '#state', 'live');
    return [ada, bob];
  }

  /** Kills the service and its Redis at once. `during` runs while both are away. */
  async function outage(during: () => Promise<void> = async () => {}): Promise<void> {
    await main.killRedis();
    await main.kill();
    await during();
    main = await startMain(dataDir, port);
  }

  extra('tic-tac-toe goes on after the service and Redis were killed, with the move made meanwhile, also after a reload', async () => {
    const [ada, bob] = await two('tic-tac-toe');
    const cell = (page: Page, place: number): Promise<void> => press(page, `#board button >> nth=${place}`);
    const board = (page: Page): Promise<string[]> => page.locator('#board button').allTextContents();
    const show = async (cells: string): Promise<void> => {
      for (const page of [ada, bob]) await expect.poll(async () => (await board(page)).map((text) => text || '.').join('')).toBe(cells);
    };
    await shows(ada, '#said', 'Your turn');
    await cell(ada, 0);
    await show('X........');
    await main.killRedis();
    await cell(bob, 3);
    await show('X..O.....');
    await outage(async () => {
      await shows(ada, '#state', /waiting|connecting/);
      await cell(ada, 1);
      // Ada's own move shows at once. Her page is loaded again before anybody has it.
      await expect.poll(async () => (await board(ada))[1]).toBe('X');
      await ada.reload({ waitUntil: 'commit' }).catch(() => {});
    });
    // The page could not load the client while the service was away.
    await ada.reload();
    await show('XX.O.....');
    await cell(bob, 4);
    await show('XX.OO....');
    await cell(ada, 2);
    for (const page of [ada, bob]) await shows(page, '#said', 'X has won');
  });

  journey('the game of docs/clients/javascript.md is played by two, who both reload and come back from offline', async () => {
    expect(documented.split('\n').length).toBeLessThan(60);
    const [ada, bob] = await newPages();
    const show = async (text: string): Promise<void> => {
      for (const page of [ada, bob]) await expect.poll(() => page.textContent('#said')).toBe(text);
    };
    await ada.goto(`${site.origin}/documented`);
    await shows(ada, '#said', 'Ada: 0');
    await bob.goto(ada.url());
    await show('Ada: 0, Bob: 0 Last: –');
    await press(ada, '#dot');
    await show('Ada: 1, Bob: 0 Last: Ada');
    await press(bob, '#dot');
    await press(bob, '#dot');
    await show('Ada: 1, Bob: 2 Last: Bob');
    await ada.context().setOffline(true);
    await press(ada, '#dot');
    await press(ada, '#dot');
    await shows(ada, '#said', 'Ada: 3');
    await sleep(500);
    expect(await bob.textContent('#said')).toBe('Ada: 1, Bob: 2 Last: Bob');
    await ada.context().setOffline(false);
    await show('Ada: 3, Bob: 2 Last: Ada');
    for (const page of [ada, bob]) await page.reload();
    await show('Ada: 3, Bob: 2 Last: Ada');
    await press(bob, '#dot');
    await show('Ada: 3, Bob: 3 Last: Bob');
    // The address of another room leads there, also in a tab that has a seat already.
    const body = JSON.stringify({ installId: freshId(), name: 'Cleo', writers: 'players' });
    const opened = await fetch(`${url}/v1/rooms`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { room } = (await opened.json()) as { room: { code: string } };
    await bob.goto(`${site.origin}/documented?again#${room.code}`);
    await shows(bob, '#said', 'Cleo: 0, Bob: 0 Last: –');
  });

  /** Ada and Bob in the lobby, with nobody's room in it. */
  async function lobby(): Promise<[ada: Page, bob: Page]> {
    const pages = await both('lobby');
    for (const page of pages) await shows(page, '#state', 'live');
    return pages;
  }

  const code = async (page: Page): Promise<string> => (await shows(page, '#room', /^[A-Z]{5}$/), (await page.textContent('#room'))!);

  extra('a room that is opened in the lobby, also after an outage, shows to another player, who joins it without its code', async () => {
    const [ada, bob] = await lobby();
    await outage(() => shows(bob, '#state', /waiting|connecting/));
    await shows(bob, '#state', 'live');
    await press(ada, '#open');
    await press(bob, `#rooms button:text("Join ${await code(ada)}: 1 of 2")`);
    for (const page of [ada, bob]) await shows(page, '#players', /^Ada, Bob$/);
    // It is full. Its last player's leaving ends it.
    await press(ada, '#leave');
    await shows(ada, '#state', 'live');
    await shows(bob, '#players', /^Bob$/);
    await press(bob, '#leave');
    for (const page of [ada, bob]) await expect.poll(() => page.locator('#rooms button').count()).toBe(0);
    expect([await bob.isVisible('#match'), await bob.isVisible('#room')]).toEqual([true, false]);
  });

  extra('a quick match seats two players in one room, who go on there after an outage and a reload', async () => {
    const [ada, bob] = await lobby();
    await press(ada, '#match');
    const first = await code(ada);
    await shows(bob, '#rooms', `Join ${first}: 1 of 2`);
    await press(bob, '#match');
    expect(await code(bob)).toBe(first);
    for (const page of [ada, bob]) await shows(page, '#phase', 'playing');
    await outage();
    for (const page of [ada, bob]) await page.reload();
    for (const page of [ada, bob]) await shows(page, '#players', /^Ada, Bob$/);
    expect([await code(ada), await code(bob)]).toEqual([first, first]);
  });

  extra('a chat carries what was said during an outage, in order, and nothing twice', async () => {
    const [ada, bob] = await two('chat');
    const say = async (page: Page, text: string): Promise<void> => {
      await page.fill('#text', text);
      await press(page, '#form button');
    };
    const said = (page: Page): Promise<string[]> => page.locator('#messages li').allTextContents();
    await say(ada, 'one');
    await shows(bob, '#messages', 'Ada: one');
    await main.killRedis();
    await say(bob, 'two');
    for (const page of [ada, bob]) await shows(page, '#messages', 'Bob: two');
    await outage(async () => {
      for (const text of ['three', 'four']) await say(ada, text);
      await shows(ada, '#waiting', '2 not sent yet');
    });
    // Nobody keeps messages: Bob hears those that are sent once he is back.
    await shows(ada, '#messages', 'Ada: four');
    await shows(bob, '#state', 'live');
    await say(ada, 'five');
    await shows(bob, '#messages', 'Ada: five');
    expect(await said(ada)).toEqual(['Ada: one', 'Bob: two', 'Ada: three', 'Ada: four', 'Ada: five']);
    expect(['Ada: one', 'Bob: two', 'Ada: three', 'Ada: four', 'Ada: five']).toEqual(expect.arrayContaining(await said(bob)));
  });

  extra('a race shows both players the same winner', async () => {
    const [ada, bob] = await two('race');
    await shows(ada, '#track', 'Bob');
    await press(ada, '#start');
    for (const page of [ada, bob]) await shows(page, '#said', 'Go!');
    await expect.poll(async () => (await press(ada, '#gas'), ada.textContent('#said')), { interval: 500 }).toBe('Ada has won');
    await shows(bob, '#said', 'Ada has won');
  });

  extra('cards stay hidden from the other player, and are there again after a reload', async () => {
    const [ada, bob] = await two('cards');
    const heard: string[] = [];
    bob.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => heard.push(String(payload))));
    await bob.reload();
    const hand = (page: Page): Promise<string[]> => page.locator('#hand button').allTextContents();
    const lay = (page: Page): Promise<void> => press(page, '#hand button >> nth=0');
    await shows(ada, '#said', 'Ada, Bob');
    await press(ada, '#deal');
    for (const page of [ada, bob]) await expect.poll(async () => (await hand(page)).length).toBe(3);
    const [ofAda, ofBob] = [await hand(ada), await hand(bob)];
    expect(ofAda.filter((card) => ofBob.includes(card))).toEqual([]);
    const [first, ...rest] = ofAda;
    await lay(ada);
    await shows(bob, '#table', `Ada ${first}`);
    await lay(bob);
    for (const page of [ada, bob]) await shows(page, '#tricks', /Ada 1|Bob 1/);
    await bob.reload();
    await expect.poll(() => hand(bob)).toEqual(ofBob.slice(1));
    // What came over Bob's connections has Ada's cards only as she played them, one after the other.
    const text = heard.filter((frame) => frame.includes('"private"')).join();
    for (const card of rest) expect(text).not.toMatch(new RegExp(`private":\\[[^\\]]*\\b${card}\\b`));
  });
});
