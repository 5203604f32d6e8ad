import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { extra, isWhole, launch, looks, noBrowser, press, servePages } from './chromium.ts';
import { axeProblems, keepPicture, layoutShift, openChecked, playgroundReady, shows } from './page-checks.ts';

/** Chromium logs requests that fail. */
const FAILED = /Failed to load resource|WebSocket connection to .* failed/;

describe.skipIf(noBrowser)('the page at /', { timeout: 120_000 }, () => {
  let browser: Browser;
  let service: TestService;
  let context: BrowserContext | undefined;
  let allFaults: string[][] = [];
  beforeAll(async () => {
    browser = await launch();
    service = await start({ settings: { STORE: 'sandbox' } });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await context?.close();
    context = undefined;
    const faults = allFaults.flat();
    allFaults = [];
    expect(faults).toEqual([]);
  });

  /** Opens the page in the context of the test, which ends with it. */
  async function open(expected?: RegExp, at = service, query = ''): Promise<Page> {
    context ??= await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const { page, faults } = await openChecked(context, `${at.url}/${query}`, expected);
    allFaults.push(faults);
    return page;
  }

  async function openPlayground(expected?: RegExp, at = service): Promise<Page> {
    const page = await open(expected, at);
    await playgroundReady(page);
    return page;
  }

  /** Presses a button by keyboard: layout shifts soon after a person's input do not count. */
  async function enter(page: Page, selector: string): Promise<void> {
    await page.focus(selector);
    await page.keyboard.press('Enter');
  }

  const pane = (name: string, part: string): string => `[data-pane="${name}"] ${part}`;

  test('says that the service is ready, and when it is away, without a reload', async () => {
    const page = await open(FAILED);
    await shows(page, '#state', /^Ready$/);
    await page.route('**/ready', (route) => route.abort());
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await shows(page, '#state', /^Away$/);
    await page.unroute('**/ready');
    await page.route('**/ready', (route) =>
      route.fulfill({ status: 503, json: { ok: false, error: { code: 'store_unavailable', message: 'Not ready: redis is away.' } } }),
    );
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await shows(page, '#state-reason', 'Not ready: redis is away.');
  });

  extra('coins are earned and spent, and a replayed key moves nothing', async () => {
    const page = await openPlayground();
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
    await press(page, '#coins-spend');
    await shows(page, '#coins-balance', /^15$/);
    await press(page, '#coins-replay');
    await shows(page, '#coins-said', 'Replayed: the first answer again, with 15 coins after it. Nothing moved, the balance is 15.');
    // The page reads the history after the sentence shows.
    await expect.poll(() => page.locator('#coins-history tr.again').count()).toBe(1);
    expect(await page.locator('#coins-history tr').allTextContents()).toEqual([
      expect.stringMatching(/^debit−1015spend-/),
      expect.stringMatching(/^credit\+2525earn-/),
    ]);
    // The player is the same after a reload.
    await page.reload();
    await shows(page, '#coins-balance', /^15$/);
  });

  extra('coins are bought, spent and refunded, and the debt shows', async () => {
    const page = await openPlayground();
    await press(page, '#coins-buy');
    await shows(page, '#coins-said', '500 coins are booked, and the store knows.');
    await shows(page, '#coins-balance', /^500$/);
    await press(page, '#coins-spend');
    await shows(page, '#coins-balance', /^490$/);
    await press(page, '#coins-refund');
    await shows(page, '#coins-said', 'took 500 coins back. The account owes 10');
    await shows(page, '#coins-balance', /^−10$/);
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^15$/);
  });

  extra('a debit beyond the balance is explained', async () => {
    const page = await openPlayground(/409 \(Conflict\)/);
    await press(page, '#coins-spend');
    await shows(page, '#coins-said', 'Refused: the balance is 0. The key is not used up.');
  });

  extra('a credit whose answers are lost waits, and is done once when the service is back', async () => {
    const page = await openPlayground(FAILED);
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
    // The service applies the credit, and the answer is lost.
    await page.route('**/v1/coins/credit', async (route) => void (await route.fetch(), await route.abort()));
    await press(page, '#coins-earn');
    await shows(page, '#coins-said', 'The operation waits in this browser');
    await page.unroute('**/v1/coins/credit');
    await page.evaluate('dispatchEvent(new Event("online"))');
    await shows(page, '#coins-said', 'is done, once');
    await shows(page, '#coins-balance', /^50$/);
  });

  extra('an operation that an earlier visit left behind shows once it is done', async () => {
    const page = await openPlayground(FAILED);
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
    await page.route('**/v1/coins/credit', (route) => route.abort());
    await press(page, '#coins-earn');
    await shows(page, '#coins-said', 'The operation waits in this browser');
    await page.reload();
    await shows(page, '#coins-balance', /^25$/);
    await page.unroute('**/v1/coins/credit');
    await page.evaluate('dispatchEvent(new Event("online"))');
    await shows(page, '#coins-said', 'The service answered: the credit of 25 is done, once.');
    await shows(page, '#coins-balance', /^50$/);
  });

  extra('a debit that waited and is then refused says so', async () => {
    const page = await openPlayground(/Failed to load resource/);
    await page.route('**/v1/coins/debit', (route) => route.abort());
    await press(page, '#coins-spend');
    await shows(page, '#coins-said', 'The operation waits in this browser');
    await page.unroute('**/v1/coins/debit');
    await page.evaluate('dispatchEvent(new Event("online"))');
    await shows(page, '#coins-said', 'The service answered, and refused the debit of 10.');
  });

  extra('each request stands beside its step as curl, which works as copied', async () => {
    const page = await openPlayground();
    await context!.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: service.url });
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
    expect(await page.locator('#coins-wire details[open] .path').textContent()).toBe('/v1/coins/credit');
    await page.locator('#coins-wire summary', { hasText: '/v1/coins/history' }).first().dispatchEvent('click');
    await press(page, '#coins-wire details:has(.path:text("/v1/coins/history")) .copy');
    await shows(page, '#coins-wire .copy', 'Copied');
    const copied = (await page.evaluate('navigator.clipboard.readText()')) as string;
    const token = /authorization: Bearer ([\w.-]+)'/.exec(copied)![1]!;
    expect(copied.startsWith(`curl -s '${service.url}/v1/coins/history?limit=20' \\\n  -H 'authorization: Bearer `)).toBe(true);
    expect((await service.get('/v1/coins/history', { bearer: token })).body.entries).toHaveLength(1);
  });

  extra('a board reorders, and shows names of markup, emoji and right-to-left letters as text', async () => {
    const page = await openPlayground();
    // The games come with the catalogue.
    await page.waitForFunction("document.querySelector('#board-game').value !== ''");
    const game = await page.inputValue('#board-game');
    const submit = async (player: string, name: string, score: string): Promise<void> => {
      await page.selectOption('#board-player', player);
      await page.fill('#board-name', name);
      await page.fill('#board-score', score);
      await press(page, '#board-form button');
    };
    const hostile = ['<img src=x onerror=a()>', '🎲👩‍👩‍👧 مريم', 'Ada'];
    // Above what an earlier run of this test left on the board.
    const top = Date.now();
    await submit('ada', hostile[2]!, String(top));
    await shows(page, '#board-said', 'Rank 1.');
    await submit('bob', hostile[0]!, String(top + 2));
    await shows(page, '#board-top li:nth-child(1)', hostile[0]!);
    await submit('cleo', hostile[1]!, String(top + 1));
    await shows(page, '#board-top li:nth-child(2)', 'مريم');
    await submit('ada', hostile[2]!, String(top + 3));
    await shows(page, '#board-top li:nth-child(1)', 'Ada');
    // The line of the player that submitted last is marked, and that of another one once it is chosen.
    await shows(page, '#board-top li.own', 'Ada');
    await page.selectOption('#board-player', 'cleo');
    await shows(page, '#board-top li.own', 'مريم');
    await page.selectOption('#board-player', 'ada');
    await shows(page, '#board-top li.own', 'Ada');
    expect(await page.locator('#board-top li.own').count()).toBe(1);
    expect(await page.locator('#board-top img, #board-top b, #board-wire img').count()).toBe(0);
    const names = (await page.locator('#board-top bdi').allTextContents()).slice(0, 3);
    expect(names).toEqual((await service.get(`/v1/highscores/${game}`)).body.top.slice(0, 3).map(({ name }: { name: string }) => name));
  });

  extra('a name with direction marks is refused, and the refusal is explained', async () => {
    const page = await openPlayground(/400 \(Bad Request\)/);
    await page.fill('#board-name', 'Ada\u202e');
    await press(page, '#board-form button');
    await shows(page, '#board-said', /^name: /);
  });

  extra('a catalogue with markup in its texts shows it as text', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-catalogue-'));
    const file = join(folder, 'catalogue.json');
    const name = '<script>alert(1)</script>';
    const game = {
      kind: 'game',
      tagline: name,
      icon: '/i.png',
      url: '/game',
      status: 'live',
      platforms: [],
      updatedAt: '2026-01-01T00:00:00Z',
    };
    writeFileSync(file, JSON.stringify({ apps: [{ ...game, id: 'markup', name }] }));
    await using other = await start({ settings: { CATALOGUE_FILE: file } });
    const page = await openPlayground(undefined, other);
    await shows(page, '#game-source', "game: 'markup'");
    expect(await page.locator('#board-game option').allTextContents()).toEqual([name]);
    await press(page, '#board-form button');
    await shows(page, '#board-said', 'Rank 1.');
    rmSync(folder, { recursive: true });
  });

  extra('two screens of one page share a room, and the raw messages stand beside them', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await press(page, pane('bob', '[data-act="ready"]'));
    await shows(page, pane('ada', '[data-part="seats"]'), /Adahost.*Bobready/);
    await press(page, pane('ada', '[data-act="start"]'));
    await shows(page, pane('bob', '[data-part="phase"]'), /^playing, seq \d+$/);
    await press(page, pane('ada', '[data-colour="plum"]'));
    await page.locator(pane('bob', '.stage.plum')).waitFor();
    await shows(page, '#room-wire .frame', /Ada → \{"type":"act",.*"action":"state",.*"merge":\{"colour":"plum"\}\}/);
    await shows(
      page,
      '#room-wire .frame',
      /Bob ← \{"type":"patch","seq":\d+,"from":\d+,"ops":\[\s.*\/colour","value":"plum"\},.*\}\s\]\}/s,
    );
    await press(page, pane('ada', '[data-act="end"]'));
    await shows(page, pane('bob', '[data-part="said"]'), 'The room has ended.');
    await page.locator(pane('bob', '[data-part="outside"]')).waitFor();
  });

  extra('both players walk and send messages, and a dropped connection stays down for two seconds', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await shows(page, pane('ada', '[data-part="board"]'), /Ada in column 1, row 1.*Bob in column 1, row 2/);
    await press(page, pane('bob', '[data-step="right"]'));
    await press(page, pane('bob', '[data-step="down"]'));
    await press(page, pane('bob', '[data-step="down"]'));
    await press(page, pane('ada', '[data-step="right"]'));
    for (const screen of ['ada', 'bob'])
      await shows(page, pane(screen, '[data-part="board"]'), /Ada in column 2, row 1.*Bob in column 2, row 3/);
    await page.fill(pane('bob', '[data-part="text"]'), '<b>your move</b>');
    await press(page, pane('bob', '[data-part="message"] button'));
    for (const screen of ['ada', 'bob']) await shows(page, pane(screen, '[data-part="heard"]'), 'Bob: <b>your move</b>');
    await shows(page, '#room-wire .frame', /Ada ← \{"type":"message","n":1,"from":"p2"/);

    // A tree stands in column 4 of row 2.
    for (const step of ['up', 'right', 'right', 'right', 'right']) await press(page, pane('bob', `[data-step="${step}"]`));
    await shows(page, pane('bob', '[data-part="said"]'), 'A tree stands there.');
    await shows(page, pane('ada', '[data-part="board"]'), /Bob in column 3, row 2/);

    const droppedAt = performance.now();
    await press(page, pane('bob', '[data-act="drop"]'));
    await shows(page, pane('bob', '[data-part="link"]'), 'offline');
    await shows(page, '#room-wire .frame', /Bob closed with/);
    await press(page, pane('ada', '[data-step="right"]'));
    for (const step of ['left', 'left']) await press(page, pane('bob', `[data-step="${step}"]`));
    await shows(page, pane('bob', '[data-part="board"]'), /Bob in column 1, row 2/);
    await shows(page, pane('ada', '[data-part="board"]'), /Ada in column 3/);
    await shows(page, pane('ada', '[data-part="seats"]'), /Bob.*away/);
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    expect(performance.now() - droppedAt).toBeGreaterThan(2000);
    // What Bob did meanwhile is done.
    for (const screen of ['ada', 'bob'])
      await shows(page, pane(screen, '[data-part="board"]'), /Ada in column 3, row 1.*Bob in column 1, row 2/);
  });

  extra('a page that is loaded again goes on in the room, on both screens', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    const code = (await page.textContent(pane('ada', '[data-part="code"]')))!;
    await page.fill(pane('bob', '[data-part="typed"]'), code);
    await press(page, pane('bob', '[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await page.reload();
    await playgroundReady(page);
    for (const name of ['ada', 'bob']) {
      await shows(page, pane(name, '[data-part="link"]'), 'live');
      await shows(page, pane(name, '[data-part="code"]'), code);
    }
    await press(page, pane('bob', '[data-act="leave"]'));
    await shows(page, pane('bob', '[data-part="said"]'), 'You left the room.');
    await page.reload();
    await playgroundReady(page);
    await shows(page, pane('ada', '[data-part="code"]'), code);
    await shows(page, pane('bob', '[data-part="link"]'), 'not connected');
  });

  extra('the host who ends a room reads that it has ended, also where the answer is lost', async () => {
    context = await browser.newContext();
    await context.routeWebSocket(/\/live/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => void (message.includes('"acted"') || socket.send(message)));
    });
    const page = await openPlayground();
    let reply = (): void => {};
    await page.route('**/end', async (route) => {
      const response = await route.fetch();
      await new Promise<void>((resolve) => (reply = resolve));
      await route.fulfill({ response });
    });
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await press(page, pane('ada', '[data-act="end"]'));
    await shows(page, pane('ada', '[data-part="said"]'), 'The room has ended.');
    reply();
    await page.locator(pane('ada', '[data-act="end"]:not([aria-busy])')).waitFor({ state: 'attached' });
    expect(await page.textContent(pane('ada', '[data-part="said"]'))).toBe('The room has ended.');
  });

  extra('a screen stays in the room that it joined, also where the channel begins with the room as it was before', async () => {
    context = await browser.newContext();
    await context.routeWebSocket(/\/live/, (socket) => {
      let isFirst = true;
      socket.connectToServer().onMessage((message) => {
        const { room } = JSON.parse(String(message)) as { room?: { players: object[] } };
        if (isFirst && room !== undefined)
          socket.send(JSON.stringify({ type: 'room', seq: 1, room: { ...room, seq: 1, players: room.players.slice(0, 1) } }));
        isFirst = false;
        setTimeout(() => socket.send(message), 100);
      });
    });
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await press(page, pane('ada', '[data-colour="mint"]'));
    await page.locator(pane('bob', '.stage.mint')).waitFor();
  });

  extra('an Enter that is held down joins a room once, and submits a score once', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    const posted: string[] = [];
    let sockets = 0;
    page.on('websocket', () => sockets++);
    await page.route(/\/(join|highscores\/[\w-]+)$/, async (route) => {
      posted.push(route.request().method());
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    for (const field of [pane('bob', '[data-part="typed"]'), '#board-score']) {
      await page.focus(field);
      for (let times = 0; times < 4; times++) await page.keyboard.down('Enter');
      await page.keyboard.up('Enter');
    }
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await shows(page, '#board-said', 'Rank');
    expect([posted.filter((method) => method === 'POST').length, sockets]).toEqual([2, 1]);
  });

  extra('a join that takes long leaves the focus where the person has gone meanwhile', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    let go = (): void => {};
    await page.route('**/join', async (route) => {
      await new Promise<void>((resolve) => (go = resolve));
      await route.continue();
    });
    const asked = page.waitForRequest('**/join');
    await enter(page, pane('bob', 'form[data-part="join"] button'));
    await asked;
    await page.focus('#board-name');
    go();
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    expect(await page.evaluate('document.activeElement.id')).toBe('board-name');
  });

  extra('presses in quick succession show one QR code', async () => {
    const page = await openPlayground();
    let opened = 0;
    await page.route('**/v1/pair/new', async (route) => {
      opened++;
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    for (let times = 0; times < 3; times++) await press(page, '#pairing-open');
    await page.locator('#pairing-qr img').waitFor();
    expect(opened).toBe(1);
    // The pairing goes on, and another code can be shown meanwhile.
    const first = await page.getAttribute('#pairing-link', 'href');
    await press(page, '#pairing-open');
    await page.locator(`#pairing-link:not([href="${first}"])`).waitFor();
    expect(opened).toBe(2);
  });

  extra('a code stays good where the next one cannot be had', async () => {
    const page = await openPlayground(FAILED);
    await press(page, '#pairing-open');
    await page.locator('#pairing-qr img').waitFor();
    await page.route('**/v1/pair/new', (route) => route.abort());
    await press(page, '#pairing-open');
    await shows(page, '#pairing-said', 'The service does not answer.');
    const token = new URL((await page.getAttribute('#pairing-link', 'href'))!, service.url).searchParams.get('token');
    await service.post('/v1/pair/claim', { token, installId: freshId() });
    await shows(page, '#pairing-said', 'Signed in as');
  });

  extra('a tab that goes offline sees the room of now once it is back', async () => {
    const ada = await openPlayground();
    const away = await browser.newContext();
    const { page: bob, faults } = await openChecked(away, service.url, FAILED);
    allFaults.push(faults);
    await playgroundReady(bob);
    await press(ada, pane('ada', '[data-act="create"]'));
    await shows(ada, pane('ada', '[data-part="link"]'), 'live');
    await bob.fill(pane('bob', '[data-part="typed"]'), ` ${(await ada.textContent(pane('ada', '[data-part="code"]')))!.toLowerCase()} `);
    await press(bob, pane('bob', 'form[data-part="join"] button'));
    await shows(bob, pane('bob', '[data-part="link"]'), 'live');
    await shows(ada, pane('ada', '[data-part="seats"]'), 'Bob');

    await away.setOffline(true);
    await press(bob, pane('bob', '[data-act="drop"]'));
    // It is offline between its tries to connect.
    await shows(bob, pane('bob', '[data-part="link"]'), /offline|connecting/);
    await press(ada, pane('ada', '[data-colour="sky"]'));
    await ada.locator(pane('ada', '.stage.sky')).waitFor();
    await shows(ada, pane('ada', '[data-part="seats"]'), /Bob.*away/);
    expect(await bob.locator(pane('bob', '.stage.sky')).count()).toBe(0);
    await away.setOffline(false);
    await bob.locator(pane('bob', '.stage.sky')).waitFor();
    await shows(bob, pane('bob', '[data-part="link"]'), 'live');
    await away.close();
  });

  extra('a room shows in another window, whose player joins it without its code', async () => {
    const ada = await openPlayground();
    const other = await browser.newContext();
    const { page: bob, faults } = await openChecked(other, service.url);
    allFaults.push(faults);
    await playgroundReady(bob);
    await press(ada, pane('ada', '[data-act="create"]'));
    await shows(ada, pane('ada', '[data-part="link"]'), 'live');
    const code = (await ada.textContent(pane('ada', '[data-part="code"]')))!;
    const row = bob.locator('#room-open li', { hasText: code });
    await row.getByText('1/8').waitFor();
    const joins = bob.getByRole('button', { name: `Bob joins ${code}`, exact: true });
    await joins.focus();
    await bob.keyboard.press('Enter');
    await shows(bob, pane('bob', '[data-part="link"]'), 'live');
    await shows(ada, pane('ada', '[data-part="seats"]'), 'Bob');
    await row.getByText('2/8').waitFor();
    await joins.dispatchEvent('click');
    await shows(bob, pane('bob', '[data-part="said"]'), 'Leave this room first.');
    // The row goes when the room starts. It had the focus, which stays at the list.
    await joins.focus();
    await press(ada, pane('ada', '[data-act="start"]'));
    await row.waitFor({ state: 'detached' });
    expect(await bob.evaluate('document.activeElement.closest("#room-open") !== null')).toBe(true);
    await other.close();
  });

  extra('a room that is gone is explained, and its player can open another', async () => {
    const page = await openPlayground();
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await service.service.redis.del(`{room:${await page.textContent(pane('ada', '[data-part="code"]'))}}`);
    await shows(page, pane('ada', '[data-part="said"]'), 'This room does not exist any more.');
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
  });

  extra.each([
    ['', 'Type the five letters of a room first.'],
    ['A'.repeat(24), 'That looks like a token or an address.'],
    [`https://play.example/pair?token=${'A'.repeat(24)}`, 'That looks like a token or an address.'],
    ['BCDFG', 'No room has this code.'],
    ['<b>🎲</b>', /room|code/i],
  ])('the code "%s" of no room is explained', async (code, words) => {
    const page = await openPlayground(/404 \(Not Found\)|400 \(Bad Request\)/);
    await page.fill(pane('bob', '[data-part="typed"]'), code);
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="said"]'), words);
    expect(await page.locator(pane('bob', '[data-part="outside"]')).isVisible()).toBe(true);
  });

  extra('a purchase and its refund show in the entitlement of a player without a trial', async () => {
    const page = await openPlayground();
    const current = '#access-track [aria-current]';
    await press(page, '#access-buy');
    await shows(page, current, 'subscribed');
    await shows(page, '#access-facts', 'yes');
    await shows(page, '#access-refund:not([aria-disabled])', 'Refund it');
    await press(page, '#access-refund');
    await shows(page, '#access-said', 'took the access back');
    await shows(page, '#access-facts div:nth-child(2) dd', 'no');
    await shows(page, current, 'expired');
  });

  extra('starting over makes new players', async () => {
    const page = await openPlayground();
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
    await press(page, '#restart');
    await playgroundReady(page);
    await shows(page, '#coins-said', 'The first press makes a guest account.');
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', /^25$/);
  });

  extra('works by keyboard alone, in the order of the page, with a visible focus and no trap', async () => {
    const page = await openPlayground();
    const order: string[] = [];
    const focused = `(() => {
      const { activeElement: element } = document;
      if (element === document.body) return 'end';
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const isVisible = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
      const name = element.id || element.closest('[data-pane]')?.dataset.pane + '-' + (element.dataset.act ?? element.dataset.part ?? 'join') || element.textContent;
      return (isVisible ? '' : 'invisible ') + (element.id || element.dataset.act || element.dataset.part ? name : element.textContent.trim().slice(0, 24));
    })()`;
    for (let presses = 0; presses < 120; presses++) {
      await page.keyboard.press('Tab');
      const name = (await page.evaluate(focused)) as string;
      if (name === 'end') break;
      order.push(name);
      if (name === 'coins-earn') {
        await page.keyboard.press('Enter');
        await shows(page, '#coins-balance', /^25$/);
        expect(await page.evaluate('document.activeElement.id')).toBe('coins-earn');
      }
      if (name === 'ada-create') {
        await page.keyboard.press('Space');
        await shows(page, pane('ada', '[data-part="link"]'), 'live');
        // The pressed button is gone, and the focus is on the first button in its place.
        expect(await page.evaluate('document.activeElement.dataset.act')).toBe('ready');
      }
    }
    expect(order.filter((name) => name.startsWith('invisible'))).toEqual([]);
    expect(order[0]).toBe('Skip to the content');
    const marks = ['restart', 'coins-earn', 'coins-spend', 'coins-replay', 'coins-wire', 'board-game', 'board-score', 'ada-create', 'bob-create', 'pairing-open', 'access-trial', 'game-source']; // prettier-ignore
    expect(order.filter((name) => marks.includes(name))).toEqual(marks);
    expect(order.length).toBeLessThan(110);
    // The skip link leads past the navigation.
    await page.reload();
    await playgroundReady(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  describe.each(looks)('at %i pixels, %s', (width, colorScheme) => {
    test('has no problem of contrast, labels or landmarks, shifts nothing, and fits', async () => {
      context = await browser.newContext({ viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme, reducedMotion: 'reduce' });
      const page = await openPlayground();
      await shows(page, '#state', /^Ready$/);
      await keepPicture(page, `home-${width}-${colorScheme}`);
      expect(await axeProblems(page)).toEqual([]);
      await enter(page, '#coins-earn');
      await shows(page, '#coins-balance', /^25$/);
      await enter(page, '#coins-replay');
      await shows(page, '#coins-said', 'Replayed');
      await enter(page, '#board-form button');
      await shows(page, '#board-said', 'Rank');
      await enter(page, pane('ada', '[data-act="create"]'));
      await shows(page, pane('ada', '[data-part="link"]'), 'live');
      await enter(page, pane('bob', 'form[data-part="join"] button'));
      await shows(page, pane('bob', '[data-part="link"]'), 'live');
      await enter(page, pane('ada', '[data-colour="mint"]'));
      await page.locator(pane('bob', '.stage.mint')).waitFor();
      await enter(page, '#pairing-open');
      await page.locator('#pairing-qr img').waitFor();
      await enter(page, '#access-buy');
      await shows(page, '#access-said', 'confirmed');
      // A shift counts later than 500 ms after an input, so a busy machine has more of them.
      if (isWhole) expect(await layoutShift(page)).toBeLessThan(0.02);
      await press(page, '.all > summary');
      expect(await axeProblems(page)).toEqual([]);
      await press(page, '.all > summary');
      await keepPicture(page, `playground-${width}-${colorScheme}`, true);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    });
  });

  extra('without its playground it shows the state and the endpoints, and loads no client', async () => {
    await using other = await start({ settings: { PLAYGROUND: 'off' } });
    const requested: string[] = [];
    context = await browser.newContext();
    context.on('request', (request) => requested.push(new URL(request.url()).pathname));
    const page = await open(undefined, other);
    await shows(page, '#state', /^Ready$/);
    expect(requested).not.toContain('/client.js');
    expect(await page.locator('#playground').count()).toBe(0);
    expect(await axeProblems(page)).toEqual([]);
  });

  test('the five minutes of the README work, word by word', async () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const steps = [
      ...readme
        .split('\n## Five minutes\n')[1]!
        .split('\n## ')[0]!
        .matchAll(/^\d\. (.*(?:\n {3}.*)*)/gm),
    ].map(([, text]) => [...text!.replace(/\*\*[^*]*\*\*/, '').matchAll(/\*([^*]+)\*/g)].map(([, label]) => label!.replace(/\s+/g, ' ')));
    expect(steps.map(({ length }) => length)).toEqual([5, 1, 3, 3, 3]);
    const [coins, board, room, pairing, access] = steps as string[][];
    const page = await openPlayground();
    const button = (label: string) => page.getByRole('button', { name: label, exact: true });

    // As a person, who sees the coins before they spend them: two operations under way may arrive in either order.
    await button(coins![0]!).dispatchEvent('click');
    await shows(page, '#coins-balance', /^25$/);
    await button(coins![1]!).dispatchEvent('click');
    await shows(page, '#coins-balance', /^15$/);
    await button(coins![2]!).dispatchEvent('click');
    await shows(page, '#coins-wire', /"replayed": true/);
    await shows(page, '#coins-said', 'Nothing moved');
    await button(coins![3]!).dispatchEvent('click');
    await shows(page, '#coins-balance', /^515$/);
    await button(coins![4]!).dispatchEvent('click');
    await shows(page, '#coins-balance', /^15$/);

    await button(board![0]!).dispatchEvent('click');
    await shows(page, '#board-said', 'Rank');

    await button(room![0]!).first().dispatchEvent('click');
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await button(room![1]!).last().dispatchEvent('click');
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await button('coral').first().dispatchEvent('click');
    await page.locator(pane('bob', '.stage.coral')).waitFor();
    await button(room![2]!).last().dispatchEvent('click');
    await shows(page, '#room-wire .frame', /Bob closed with/);
    await shows(page, pane('bob', '[data-part="link"]'), 'live');

    await button(pairing![0]!).dispatchEvent('click');
    await page.locator('#pairing-link[href]').waitFor();
    const [tab] = await Promise.all([
      context!.waitForEvent('page'),
      page.getByRole('link', { name: pairing![1]!, exact: true }).dispatchEvent('click'),
    ]);
    await shows(tab, 'h1', 'Sign in the other screen?');
    expect(await tab.textContent('#match-code')).toBe(await page.textContent('#pairing-match'));
    await tab.getByRole('button', { name: pairing![2]!, exact: true }).dispatchEvent('click');
    await shows(page, '#pairing-said', 'with 15 coins');

    await button(access![0]!).dispatchEvent('click');
    await shows(page, '#access-track [aria-current]', 'trial');
    await button(access![1]!).dispatchEvent('click');
    await shows(page, '#access-refund:not([aria-disabled])', access![2]!);
    await button(access![2]!).dispatchEvent('click');
    // The trial of before goes on.
    await shows(page, '#access-said', 'The trial still gives access');
    await shows(page, '#access-facts div:nth-child(2) dd', 'yes');
  });

  extra('its game of twelve lines works as copied, in a page of another origin', async () => {
    const page = await openPlayground();
    const source = (await page.textContent('#game-source'))!;
    expect(source.trim().split('\n')).toHaveLength(12);
    // In development pages of this machine may call from any port.
    await using site = await servePages(() => ({ '/game': source }));
    const game = await context!.newPage();
    game.on('dialog', (dialog) => void dialog.accept('Ada'));
    await game.goto(`${site.origin}/game`);
    await press(game, '#press');
    await shows(game, '#press', '1 coins');
    await press(game, '#press');
    await shows(game, '#press', '2 coins');
    await game.locator('#board li').first().waitFor();
    await game.route('**/v1/coins/credit', (route) => route.abort());
    await press(game, '#press');
    await shows(game, '#press', 'No answer: it counts later');
    await game.unroute('**/v1/coins/credit');
    // As a browser says it. Without it the next try may come up to 15 s later.
    await game.evaluate("dispatchEvent(new Event('online'))");
    await press(game, '#press');
    await shows(game, '#press', '4 coins');
  });
});
