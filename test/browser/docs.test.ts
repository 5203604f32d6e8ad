import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../harness.ts';
import { complaints, extra, isWhole, launch, looks, noBrowser } from './chromium.ts';

/** The pictures are for people: no test compares them. `.cache` is ignored by git. */
const pictures = fileURLToPath(new URL('../../.cache/screenshots', import.meta.url));

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each page with its name, and the parts that axe checks. */
const PAGES = [
  ['/docs', 'reference', ['.top', '.contents', '#introduction', '#creditCoins', '#getRoom', '#sandboxAcknowledge']],
  ['/docs/channels', 'channels', ['html']],
  ['/docs/errors', 'errors', ['html']],
] as const;

/** The additions of `watched` to the page, and axe. */
interface Watched {
  readonly violations: string[];
  readonly axe: { run(context: { include: readonly string[] }): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
}

describe.skipIf(noBrowser)('the documentation in a browser', { timeout: 120_000 }, () => {
  let browser: Browser;
  let service: TestService;
  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    browser = await launch();
    service = await start({ settings: { STORE: 'sandbox' } });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.[Symbol.asyncDispose]();
  });

  /** A page in a separate context. `trouble` has errors in the console, violations of the policy and requests to other hosts. */
  async function watched(options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const lines = complaints(page, /status of 4\d\d/);
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.addInitScript(() => {
      const global = globalThis as unknown as {
        violations: string[];
        addEventListener: (type: string, listener: (event: object) => void) => void;
      };
      global.violations = [];
      global.addEventListener('securitypolicyviolation', (event) => {
        const { effectiveDirective, blockedURI } = event as { effectiveDirective: string; blockedURI: string };
        global.violations.push(`${effectiveDirective} ${blockedURI}`);
      });
    });
    const trouble = async (): Promise<string[]> => [
      ...lines,
      ...foreign,
      ...(await page.evaluate(() => (globalThis as unknown as Watched).violations)),
    ];
    return { page, trouble, [Symbol.asyncDispose]: () => context.close() };
  }

  /**
   * What axe finds, of all its rules, in these parts of the page. It takes seconds for the whole reference, whose sixty sections are made
   * alike.
   */
  async function problemsOf(page: Page, ...parts: readonly string[]): Promise<string[]> {
    await page.evaluate(axe);
    const { violations } = await page.evaluate((include) => (globalThis as unknown as Watched).axe.run({ include }), parts);
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
  }

  const overflow = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth - innerWidth');

  // axe takes seconds for the reference.
  describe.each(isWhole ? PAGES : PAGES.slice(1))('%s', (path, name, parts) => {
    test.each(looks)('is whole and readable: %i px, %s', async (width, colorScheme) => {
      await using visit = await watched({ colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } });
      await visit.page.goto(service.url + path);
      await visit.page.locator('h1').waitFor();
      expect(await overflow(visit.page)).toBe(0);
      await visit.page.screenshot({ path: join(pictures, `docs-${name}-${colorScheme}-${width}.png`) });
      expect(await problemsOf(visit.page, ...parts)).toEqual([]);
      expect(await visit.trouble()).toEqual([]);
    });
  });

  extra('the pages do not shift while they load, and fit widths from 320 to 1600 px', async () => {
    for (const width of [320, 700, 1000, 1600]) {
      for (const [path] of PAGES) {
        await using visit = await watched({ viewport: { width, height: 900 } });
        await visit.page.goto(service.url + path, { waitUntil: 'load' });
        expect([path, width, await overflow(visit.page)]).toEqual([path, width, 0]);
        const shift = await visit.page.evaluate<number>(`new Promise((resolve) => {
          let sum = 0;
          new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (sum += value))).observe({ type: 'layout-shift', buffered: true });
          // The observer gets the shifts until now in a task of its own, before the second frame.
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(sum), 0)));
        })`);
        expect([path, width, shift]).toEqual([path, width, 0]);
      }
    }
  });

  extra('the search finds an endpoint by words of its path, text, fields or errors, with the keyboard alone', async () => {
    await using visit = await watched({ viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await page.goto(`${service.url}/docs`);
    const shown = page.locator('#contents nav li:visible a');
    const all = await shown.count();
    await page.keyboard.press('/');
    await page.keyboard.type('INSUFFICIENT_coins key');
    await page.locator('#found', { hasText: '1 found' }).waitFor();
    expect(await shown.getAttribute('href')).toBe('#debitCoins');
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).hash).toBe('#debitCoins');
    expect(await page.locator('#debitCoins h3').isVisible()).toBe(true);
    await page.locator('#contents a[href="#debitCoins"][aria-current="location"]').waitFor();

    await page.fill('#search', 'nonce');
    await page.locator('#found', { hasText: '4 found' }).waitFor();
    await page.locator('#search').press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.hash')).toBe('#proveInstall');

    await page.fill('#search', '<b>no such thing');
    await page.locator('#found', { hasText: 'Nothing has all these words.' }).waitFor();
    expect(await shown.count()).toBe(0);
    await page.fill('#search', '');
    expect(await shown.count()).toBe(all);
    expect(await visit.trouble()).toEqual([]);
  });

  extra('a phone opens the contents over the page, and a link closes them', async () => {
    await using visit = await watched({ viewport: { width: 390, height: 844 } });
    const { page } = visit;
    await page.goto(`${service.url}/docs`);
    expect(await page.locator('#search').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Contents' }).click();
    await page.fill('#search', 'jwks');
    await page.screenshot({ path: join(pictures, 'docs-contents-390.png') });
    expect(await problemsOf(page, '.top', '.contents')).toEqual([]);
    await page.locator('#contents a[href="#getProofKeys"]').click();
    expect(await page.locator('#search').isVisible()).toBe(false);
    expect(await page.locator('#getProofKeys h3').isVisible()).toBe(true);
    expect(await visit.trouble()).toEqual([]);
  });

  test('"Try it" sends requests and shows the answers, the same as curl, and what to do about an error', async () => {
    await using visit = await watched({ viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await page.goto(`${service.url}/docs`);
    const tried = async (id: string, fill: () => Promise<void> = async () => {}): Promise<string> => {
      const section = page.locator(`#${id}`);
      if ((await section.locator('.try').getAttribute('open')) === null) await section.locator('.try > summary').press('Enter');
      await fill();
      await section.getByRole('button', { name: /^Send/ }).press('Enter');
      await section.locator('.answer:not([aria-busy]) .status').waitFor();
      return section.locator('.answer').innerText();
    };

    expect(await tried('getHealth')).toContain('200 OK');
    const credited = await tried('creditCoins');
    expect(credited).toContain('"balanceAfterCoins": 10');
    expect(credited).toMatch(/curl -s -X POST 'http:\/\/127\.0\.0\.1:\d+\/v1\/coins\/credit'/);
    // The same installId, in another form.
    expect(await tried('getBalance')).toContain('"balanceCoins": 10');
    await page.locator('#creditCoins').screenshot({ path: join(pictures, 'docs-try-1280.png') });

    const refused = await tried('debitCoins', () => page.fill('#debitCoins-body', '{"coins": 999, "key": "<b>too</b> much\'"}'));
    expect(refused).toContain('409');
    expect(refused).toContain('"insufficient_coins"');
    expect(refused).toContain(`<b>too</b> much'\\''`);
    expect(await page.locator('#debitCoins .answer a').getAttribute('href')).toBe('/docs/errors#insufficient_coins');
    expect(await problemsOf(page, '#creditCoins', '#debitCoins')).toEqual([]);

    // A hostile path parameter stays one segment.
    expect(await tried('getRoom', () => page.fill('#getRoom-code', '../../health?x=#'))).toContain('"room_not_found"');
    expect(await tried('sandboxIssue')).toContain('200 OK');
    expect(await tried('sandboxGetAccessToken')).toMatch(/^[24]\d\d/);
    expect(await tried('getMetrics')).toContain('# HELP');
    expect(await visit.trouble()).toEqual([]);
  });

  extra('"Try it" explains a body that is not JSON to the form, and a service that is away', async () => {
    await using visit = await watched();
    const { page } = visit;
    await page.goto(`${service.url}/docs#sandboxGetAccessToken`);
    await page.locator('#sandboxGetAccessToken .try > summary').click();
    await page.fill('#sandboxGetAccessToken-body', '{');
    await page.locator('#sandboxGetAccessToken button.primary').click();
    await page.locator('#sandboxGetAccessToken .status', { hasText: 'not valid JSON' }).waitFor();
    await page.locator('#getHealth .try > summary').click();
    await page.context().setOffline(true);
    await page.locator('#getHealth button.primary').click();
    await page.locator('#getHealth .status', { hasText: 'did not answer' }).waitFor();
    await page.context().setOffline(false);
    await page.locator('#getHealth button.primary').click();
    await page.locator('#getHealth .status', { hasText: '200 OK' }).waitFor();
  });

  extra('"Try it" works where the browser forbids its storage', async () => {
    await using visit = await watched();
    const { page } = visit;
    await page.addInitScript(
      `Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('forbidden', 'SecurityError'); } })`,
    );
    await page.goto(`${service.url}/docs#creditCoins`);
    for (const id of ['creditCoins', 'getBalance']) {
      await page.locator(`#${id} .try > summary`).press('Enter');
      await page.locator(`#${id} button.primary`).press('Enter');
      await page.locator(`#${id} .answer`, { hasText: '10' }).locator('.status', { hasText: '200 OK' }).waitFor();
    }
    expect(await visit.trouble()).toEqual([]);
  });

  extra('a link to an error code leads to its row', async () => {
    await using visit = await watched({ viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await page.goto(`${service.url}/docs#creditCoins`);
    await page.locator('#creditCoins .codes a', { hasText: 'key_reused' }).click();
    await page.waitForURL('**/docs/errors#key_reused');
    expect(await page.locator('#key_reused').innerText()).toContain('Make a new key for a new operation.');
    expect(await visit.trouble()).toEqual([]);
  });

  extra('the pages can be read without JavaScript', async () => {
    await using visit = await watched({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    const { page } = visit;
    await page.goto(`${service.url}/docs`);
    expect(await page.locator('#creditCoins h3').isVisible()).toBe(true);
    for (const hidden of ['#search', '#creditCoins .try', '#creditCoins .copy'])
      expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
  });
});
