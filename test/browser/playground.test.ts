import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, start, type TestService } from '../harness.ts';
import { extra, isWhole, looks, noBrowser, press, servePages } from './chromium.ts';
import { axeProblems, FAILED, fits, inBrowser, keepPicture, layoutShift, playgroundReady, shows } from './page-checks.ts';

describe.skipIf(noBrowser)('the page at /', () => {
  const browser = inBrowser();
  let service: TestService;
  beforeAll(async () => void (service = await start({ settings: { STORE: 'sandbox' } })));
  afterAll(() => service?.[Symbol.asyncDispose]());

  /** Opens the page at one of its steps. */
  async function openPlayground(step: string, expected?: RegExp, context?: BrowserContext): Promise<Page> {
    const page = await browser.open(`${service.url}#${step}`, expected, context ?? { viewport: { width: 1280, height: 900 } });
    await playgroundReady(page);
    return page;
  }

  /** Opens a step by keyboard. */
  async function unfold(page: Page, step: string): Promise<void> {
    await page.focus(`details:has(> #${step}) > summary`);
    await page.keyboard.press('Enter');
    await page.locator(`#${step}`).waitFor();
  }

  /** Presses a button by keyboard: layout shifts soon after a person's input do not count. */
  async function enter(page: Page, selector: string): Promise<void> {
    await page.focus(selector);
    await page.keyboard.press('Enter');
  }

  const pane = (name: string, part: string): string => `[data-pane="${name}"] ${part}`;

  /** Opens a room on Ada's screen. @returns its code */
  async function adaOpens(page: Page): Promise<string> {
    await press(page, pane('ada', '[data-act="create"]'));
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    return (await page.textContent(pane('ada', '[data-part="code"]')))!;
  }

  /** Bob joins the room whose code stands in his field: the page offers him Ada's. */
  async function bobJoins(page: Page): Promise<void> {
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
  }

  async function earn(page: Page, balance = 25): Promise<void> {
    await press(page, '#coins-earn');
    await shows(page, '#coins-balance', new RegExp(`^${balance}$`));
  }

  /** The network is back, as a browser says it. Without it the next try may come up to 15 s later. */
  const goOnline = (page: Page) => page.evaluate('dispatchEvent(new Event("online"))');

  test('says that the service is ready, and when it is away, without a reload', async () => {
    const page = await browser.open(service.url, FAILED);
    await shows(page, '#state', /^Ready$/);
    await page.route('**/ready', (route) => route.abort());
    await shows(page, '#state', /^Away$/);
    await page.unroute('**/ready');
    await page.route('**/ready', (route) =>
      route.fulfill({ status: 503, json: { ok: false, error: { code: 'store_unavailable', message: 'Not ready: redis is away.' } } }),
    );
    await shows(page, '#state-reason', 'Not ready: redis is away.');
    // A service that takes the request and does not answer is away too.
    await page.unroute('**/ready');
    await page.route('**/ready', () => {});
    await shows(page, '#state', /^Away$/);
  });

  extra('coins are earned and spent, and a replayed key moves nothing', async () => {
    const page = await openPlayground('coins');
    await earn(page);
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
    // The card follows what another device does.
    const { installId } = JSON.parse((await page.evaluate('localStorage.getItem("playground-me:me")')) as string);
    await service.post('/v1/coins/credit', { installId, coins: 85, key: 'elsewhere' });
    await shows(page, '#coins-balance', /^100$/);
    expect(await page.locator('#coins-history tr').first().textContent()).toBe('credit+85100elsewhere');
  });

  extra.each(['google', 'apple'])('coins are bought from %s, spent and refunded, and the debt shows', async (store) => {
    const page = await openPlayground('coins', /409 \(Conflict\)/);
    await page.selectOption('#coins-store', store);
    await page.locator('#coins-spend[aria-disabled="true"]').waitFor();
    await press(page, '#coins-buy');
    await shows(page, '#coins-said', '500 coins are booked, and the store knows.');
    // Another device has spent the coins, and this page does not know it yet.
    const error = { code: 'insufficient_coins', message: 'Too few', balanceCoins: 0 };
    await page.route('**/v1/coins/debit', (route) => route.fulfill({ status: 409, json: { ok: false, error, requestId: 'test' } }));
    await press(page, '#coins-spend');
    await shows(page, '#coins-said .refused', 'Refused: the balance is 0. The key is not used up.');
    await page.unroute('**/v1/coins/debit');
    await press(page, '#coins-spend');
    await shows(page, '#coins-balance', /^490$/);
    await press(page, '#coins-refund');
    await shows(page, '#coins-said', 'took 500 coins back. The account owes 10');
    await shows(page, '#coins-balance', /^−10$/);
    await earn(page, 15);
  });

  extra.each(['google', 'apple'])('a subscription is bought from %s, and its refund takes the access back', async (store) => {
    const page = await openPlayground('access');
    await page.selectOption('#access-store', store);
    await press(page, '#access-buy');
    await shows(page, '#access-said', 'confirmed the purchase');
    await press(page, '#access-refund');
    await shows(page, '#access-said', 'took the access back');
  });

  extra('a credit that gets no answer waits, also while the page is loaded again, and is done once', async () => {
    const page = await openPlayground('coins', FAILED);
    await earn(page);
    await page.route('**/v1/coins/credit', (route) => route.abort());
    await press(page, '#coins-earn');
    await shows(page, '#coins-said', 'The operation waits in this browser');
    await page.reload();
    await shows(page, '#coins-balance', /^25$/);
    await page.unroute('**/v1/coins/credit');
    await goOnline(page);
    await shows(page, '#coins-said', 'The service answered: the credit of 25 is done, once.');
    await shows(page, '#coins-balance', /^50$/);
  });

  extra('one person signs in with two providers, merges both accounts, and removes one of the sign-ins', async () => {
    const page = await openPlayground('sign-ins', /409 \(Conflict\)/);
    const signsIn = async (provider: string, sentence: string): Promise<void> => {
      await press(page, `#sign-ins-${provider}`);
      await shows(page, '#sign-ins-said', sentence);
    };
    const earns = async (balance: number): Promise<void> => {
      await press(page, '#sign-ins-earn:not([aria-disabled])');
      await shows(page, '#sign-ins-balance', new RegExp(`^${balance}$`));
    };
    // Nobody is signed in, so there is no account to add a sign-in to.
    await expect.poll(() => page.getAttribute('#sign-ins-add-apple', 'aria-disabled')).toBe('true');
    await signsIn('apple', 'Apple opened a new account');
    await earns(25);
    await signsIn('google', 'Google opened a new account');
    await earns(25);
    await earns(50);
    await press(page, '#sign-ins-add-apple:not([aria-disabled])');
    await shows(page, '#sign-ins-said', 'Apple has an account of its own, with 25 coins.');
    await press(page, '#sign-ins-merge');
    await shows(page, '#sign-ins-said', 'Merged: 25 coins came along.');
    await shows(page, '#sign-ins-balance', /^75$/);
    await signsIn('apple', 'Apple opened its account');
    // The person is the same after a reload.
    await page.reload();
    await shows(page, '#sign-ins-list', /Applethis session.*Google/);
    await press(page, '[aria-label="Remove the sign-in with Apple"]');
    await shows(page, '#sign-ins-said', 'This session began with it, and has ended.');
    await shows(page, '#sign-ins-list', 'Nobody is signed in');
    await signsIn('google', 'Google opened its account');
    await shows(page, '#sign-ins-balance', /^75$/);
    await press(page, '#sign-ins-add-apple:not([aria-disabled])');
    await shows(page, '#sign-ins-said', 'From now on Apple opens this account.');
  });

  extra('each request stands beside its step as curl, which works as copied', async () => {
    const page = await openPlayground('coins');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: service.url });
    await earn(page);
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
    const page = await openPlayground('board');
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
    await submit('bob', hostile[0]!, String(top + 2));
    await shows(page, '#board-top li:nth-child(1)', hostile[0]!);
    await submit('cleo', hostile[1]!, String(top + 1));
    await shows(page, '#board-top li:nth-child(2)', 'مريم');
    // The line of the player that submitted last is marked, and that of another one once it is chosen.
    await shows(page, '#board-top li.own', 'مريم');
    await page.selectOption('#board-player', 'ada');
    await shows(page, '#board-top li.own', 'Ada');
    expect(await page.locator('#board-top li.own').count()).toBe(1);
    expect(await page.locator('#board-top img, #board-top b, #board-wire img').count()).toBe(0);
    const names = (await page.locator('#board-top bdi').allTextContents()).slice(0, 3);
    expect(names).toEqual((await service.get(`/v1/highscores/${game}`)).body.top.slice(0, 3).map(({ name }: { name: string }) => name));
  });

  extra('two screens of one page share a room, walk and send messages, and a dropped connection stays down for a while', async () => {
    const page = await openPlayground('room');
    await adaOpens(page);
    await bobJoins(page);
    await press(page, pane('bob', '[data-act="ready"]'));
    await shows(page, pane('ada', '[data-part="seats"]'), /Adahost.*Bobready/);
    await press(page, pane('ada', '[data-act="start"]'));
    await shows(page, pane('bob', '[data-part="phase"]'), /^playing, seq \d+$/);
    await press(page, pane('ada', '[data-colour="plum"]'));
    await page.locator(pane('bob', '.stage.plum')).waitFor();
    await shows(page, '#room-wire .frame', /Ada → \{"type":"act",.*"action":"state",.*"merge":\{"colour":"plum"\}\}/);

    for (const step of ['right', 'down', 'down']) await press(page, pane('bob', `[data-step="${step}"]`));
    await press(page, pane('ada', '[data-step="right"]'));
    for (const screen of ['ada', 'bob'])
      await shows(page, pane(screen, '[data-part="board"]'), /Ada in column 2, row 1.*Bob in column 2, row 3/);
    await page.fill(pane('bob', '[data-part="text"]'), '<b>your move</b>');
    await press(page, pane('bob', '[data-part="message"] button'));
    for (const screen of ['ada', 'bob']) await shows(page, pane(screen, '[data-part="heard"]'), 'Bob: <b>your move</b>');

    await press(page, pane('bob', '[data-act="drop"]'));
    await shows(page, pane('bob', '[data-part="link"]'), 'offline');
    await press(page, pane('ada', '[data-step="right"]'));
    await press(page, pane('bob', '[data-step="left"]'));
    await shows(page, pane('bob', '[data-part="board"]'), /Bob in column 1, row 3/);
    await shows(page, pane('ada', '[data-part="seats"]'), /Bob.*away/);
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    // What Bob did meanwhile is done.
    for (const screen of ['ada', 'bob'])
      await shows(page, pane(screen, '[data-part="board"]'), /Ada in column 3, row 1.*Bob in column 1, row 3/);
    await press(page, pane('ada', '[data-act="end"]'));
    await shows(page, pane('bob', '[data-part="said"]'), 'The room has ended.');
    await page.locator(pane('bob', '[data-part="outside"]')).waitFor();
  });

  extra('a page that is loaded again goes on in the room, on both screens', async () => {
    const page = await openPlayground('room');
    const code = await adaOpens(page);
    await page.fill(pane('bob', '[data-part="typed"]'), code);
    await bobJoins(page);
    await page.reload();
    await playgroundReady(page);
    for (const name of ['ada', 'bob']) {
      await shows(page, pane(name, '[data-part="link"]'), 'live');
      await shows(page, pane(name, '[data-part="code"]'), code);
    }
  });

  extra('a room shows in another window, whose player joins it without its code, goes offline, and comes back', async () => {
    const [ada, away] = [await openPlayground('room'), await browser.newContext()];
    const bob = await openPlayground('room', FAILED, away);
    const code = await adaOpens(ada);
    const row = bob.locator('#room-open li', { hasText: code });
    await row.getByText('1/8').waitFor();
    const joins = bob.getByRole('button', { name: `Bob joins ${code}`, exact: true });
    await joins.focus();
    await bob.keyboard.press('Enter');
    await shows(bob, pane('bob', '[data-part="link"]'), 'live');
    await shows(ada, pane('ada', '[data-part="seats"]'), 'Bob');
    await row.getByText('2/8').waitFor();
    await expect.poll(() => joins.getAttribute('aria-disabled')).toBe('true');

    await away.setOffline(true);
    await press(bob, pane('bob', '[data-act="drop"]'));
    // It is offline between its tries to connect.
    await shows(bob, pane('bob', '[data-part="link"]'), /offline|connecting/);
    await press(ada, pane('ada', '[data-colour="sky"]'));
    await shows(ada, pane('ada', '[data-part="seats"]'), /Bob.*away/);
    expect(await bob.locator(pane('bob', '.stage.sky')).count()).toBe(0);
    await away.setOffline(false);
    await bob.locator(pane('bob', '.stage.sky')).waitFor();
    await shows(bob, pane('bob', '[data-part="link"]'), 'live');

    // The row goes when the room starts. It had the focus, which stays at the list.
    await joins.focus();
    await press(ada, pane('ada', '[data-act="start"]'));
    await row.waitFor({ state: 'detached' });
    expect(await bob.evaluate('document.activeElement.closest("#room-open") !== null')).toBe(true);
  });

  extra('a room that is gone is explained, and its player can open another', async () => {
    const page = await openPlayground('room');
    await service.service.redis.del(`{room:${await adaOpens(page)}}`);
    await shows(page, pane('ada', '[data-part="said"]'), 'This room does not exist any more.');
    await adaOpens(page);
  });

  extra.each([
    ['', 'Type the five letters of a room first.'],
    ['A'.repeat(24), 'That looks like a token or an address.'],
    ['BCDFG', 'No room has this code.'],
    ['<b>🎲</b>', /room|code/i],
  ])('the code "%s" of no room is explained', async (code, words) => {
    const page = await openPlayground('room', /404 \(Not Found\)|400 \(Bad Request\)/);
    await page.fill(pane('bob', '[data-part="typed"]'), code);
    await press(page, pane('bob', 'form[data-part="join"] button'));
    await shows(page, pane('bob', '[data-part="said"]'), words);
    expect(await page.locator(pane('bob', '[data-part="outside"]')).isVisible()).toBe(true);
  });

  extra('starting over makes new players', async () => {
    const page = await openPlayground('coins');
    await earn(page);
    await press(page, '#restart');
    await playgroundReady(page);
    await shows(page, '#coins-said', 'The first press makes a guest account.');
    await earn(page);
  });

  extra('works by keyboard alone, in the order of the page, with a visible focus and no trap', async () => {
    const page = await openPlayground('');
    const order: string[] = [];
    const focused = `(() => {
      const { activeElement: element } = document;
      if (element === document.body) return 'end';
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const isVisible = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
      const inPane = (element.closest('[data-pane]')?.dataset.pane ?? '') + '-' + (element.dataset.act ?? '');
      return (isVisible ? '' : 'invisible ') + (element.id || (element.dataset.act ? inPane : element.textContent.trim().slice(0, 24)));
    })()`;
    for (let presses = 0; presses < 140 && order.at(-1) !== 'end'; presses++) {
      await page.keyboard.press('Tab');
      order.push((await page.evaluate(focused)) as string);
      // A closed step opens, and its buttons are next.
      if (await page.evaluate('document.activeElement.matches(".step > details:not([open]) > summary")'))
        await page.keyboard.press('Enter');
      if (order.at(-1) !== 'ada-create') continue;
      await page.keyboard.press('Space');
      await shows(page, pane('ada', '[data-part="link"]'), 'live');
      // The pressed button is gone, and the focus is on the first button in its place.
      expect(await page.evaluate('document.activeElement.dataset.act')).toBe('ready');
    }
    expect(order.filter((name) => name.startsWith('invisible'))).toEqual([]);
    const marks = ['Skip to the content', 'coins-earn', 'board-score', 'ada-create', 'bob-create', 'pairing-open', 'access-trial', 'end'];
    expect(order.filter((name) => marks.includes(name))).toEqual(marks);
    // One step is open at a time, and the address names it for a page that is loaded again.
    expect(await page.locator('.step > details[open]').count()).toBe(1);
    expect(page.url()).toMatch(/#access$/);
    // The skip link leads past the navigation.
    await page.goto(service.url);
    await playgroundReady(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  describe.each(looks)('at %i pixels, %s', (width, colorScheme) => {
    test('has no problem of contrast, labels or landmarks, shifts nothing, and fits', async () => {
      const viewport = { width, height: width === 390 ? 844 : 900 };
      const page = await openPlayground('coins', undefined, await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' }));
      await shows(page, '#state', /^Ready$/);
      await keepPicture(page, `home-${width}-${colorScheme}`);
      expect(await axeProblems(page)).toEqual([]);
      await enter(page, '#coins-earn');
      await shows(page, '#coins-balance', /^25$/);
      await enter(page, '#coins-replay');
      await shows(page, '#coins-said', 'Replayed');
      await unfold(page, 'board');
      await enter(page, '#board-form button');
      await shows(page, '#board-said', 'Rank');
      await unfold(page, 'room');
      await enter(page, pane('ada', '[data-act="create"]'));
      await shows(page, pane('ada', '[data-part="link"]'), 'live');
      await enter(page, pane('bob', 'form[data-part="join"] button'));
      await shows(page, pane('bob', '[data-part="link"]'), 'live');
      await enter(page, pane('ada', '[data-colour="mint"]'));
      await page.locator(pane('bob', '.stage.mint')).waitFor();
      // Both screens are in the window together, from their names to the buttons of the host.
      const screens = page.locator('.panes:has([data-pane="ada"])');
      await screens.evaluate((element) => element.scrollIntoView());
      expect((await screens.boundingBox())!.height).toBeLessThan(viewport.height - 80);
      await keepPicture(page, `room-${width}-${colorScheme}`);
      expect(await axeProblems(page, '#room')).toEqual([]);
      await unfold(page, 'pairing');
      await enter(page, '#pairing-open');
      await page.locator('#pairing-qr img').waitFor();
      expect(await axeProblems(page, '#pairing')).toEqual([]);
      await unfold(page, 'access');
      await enter(page, '#access-buy');
      await shows(page, '#access-said', 'confirmed');
      // A shift counts later than 500 ms after an input, so a busy machine has more of them.
      if (isWhole) expect(await layoutShift(page)).toBeLessThan(0.02);
      expect(await axeProblems(page)).toEqual([]);
      await keepPicture(page, `playground-${width}-${colorScheme}`, true);
      expect(await fits(page)).toBe(true);
    });
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
    const page = await openPlayground('coins');
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

    await unfold(page, 'board');
    await button(board![0]!).dispatchEvent('click');
    await shows(page, '#board-said', 'Rank');

    await unfold(page, 'room');
    await button(room![0]!).first().dispatchEvent('click');
    await shows(page, pane('ada', '[data-part="link"]'), 'live');
    await button(room![1]!).last().dispatchEvent('click');
    await shows(page, pane('bob', '[data-part="link"]'), 'live');
    await button('coral').first().dispatchEvent('click');
    await page.locator(pane('bob', '.stage.coral')).waitFor();
    await button(room![2]!).last().dispatchEvent('click');
    await shows(page, '#room-wire .frame', /Bob closed with/);
    await shows(page, pane('bob', '[data-part="link"]'), 'live');

    await unfold(page, 'pairing');
    await button(pairing![0]!).dispatchEvent('click');
    await page.locator('#pairing-link[href]').waitFor();
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: pairing![1]!, exact: true }).dispatchEvent('click'),
    ]);
    await shows(tab, 'h1', 'Sign in the other screen?');
    expect(await tab.textContent('#match-code')).toBe(await page.textContent('#pairing-match'));
    await tab.getByRole('button', { name: pairing![2]!, exact: true }).dispatchEvent('click');
    await shows(page, '#pairing-said', 'with 15 coins');

    await unfold(page, 'access');
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
    const page = await openPlayground('coins');
    const source = (await page.textContent('#game-source'))!;
    expect(source.trim().split('\n')).toHaveLength(12);
    // In development pages of this machine may call from any port.
    await using site = await servePages(() => ({ '/game': source }));
    const game = await browser.newPage(FAILED);
    game.on('dialog', (dialog) => void dialog.accept('Ada'));
    await game.goto(`${site.origin}/game`);
    await press(game, '#press');
    await shows(game, '#press', 'Coins: 1');
    await press(game, '#press');
    await shows(game, '#press', 'Coins: 2');
    await game.locator('#board li').first().waitFor();
    await game.route('**/v1/coins/credit', (route) => route.abort());
    await press(game, '#press');
    await shows(game, '#press', 'Counts later: ');
    await game.unroute('**/v1/coins/credit');
    await goOnline(game);
    await press(game, '#press');
    await shows(game, '#press', 'Coins: 4');
  });
});
