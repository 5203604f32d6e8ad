import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { complaints, launch } from './chromium.ts';

const axeSource = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const folder = fileURLToPath(new URL('../../.cache/screenshots/', import.meta.url));

/** Notes layout shifts that were not caused by input. The logs of the playground are left out: there new entries push older ones down. */
const OBSERVE = `
  window.observed = { shift: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) 
      if (!entry.hadRecentInput && entry.sources.some(({ node }) => node?.isConnected && !(node.closest ? node : node.parentElement).closest('.log'))) window.observed.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
`;

/** Chromium logs requests that fail, and refused upgrades. */
export const FAILED = /Failed to load resource|WebSocket connection to .* failed/;

/** A browser for the tests of the calling block. Each context ends with its test, which fails if a page of it had a fault. */
export function inBrowser() {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const faults: string[][] = [];
  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(faults.splice(0).flat()).toEqual([]);
  });
  const newContext = async (options?: BrowserContextOptions): Promise<BrowserContext> => {
    const context = await browser.newContext(options);
    contexts.push(context);
    return context;
  };
  /** An empty page. @param expected lines of the console that the test provokes */
  const newPage = async (expected?: RegExp, context?: BrowserContext): Promise<Page> => {
    const page = await (context ?? (await newContext())).newPage();
    faults.push(complaints(page, expected));
    return page;
  };
  /**
   * Opens a page of the service, for which requests to other hosts and violations of the Content-Security-Policy are faults too.
   * @param from a context, or the options of a new one
   */
  const open = async (address: string, expected?: RegExp, from: BrowserContext | BrowserContextOptions = {}): Promise<Page> => {
    const page = await newPage(expected, 'newPage' in from ? from : await newContext(from));
    const found: string[] = [];
    faults.push(found);
    const { origin, host } = new URL(address);
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && url.origin !== origin) found.push(`a request to ${url.origin}`);
    });
    page.on('websocket', (socket) => {
      if (new URL(socket.url()).host !== host) found.push(`a socket to ${socket.url()}`);
    });
    await page.exposeFunction('noteViolation', (text: string) => void found.push(text));
    await page.addInitScript(OBSERVE);
    await page.addInitScript(
      `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => noteViolation(violatedDirective + ' ' + blockedURI))`,
    );
    await page.goto(address);
    return page;
  };
  return { newContext, newPage, open };
}

/** Waits until the buttons of the playground work. */
export async function playgroundReady(page: Page): Promise<void> {
  await page.locator('#playground:not([aria-busy])').waitFor();
}

/** The cumulative layout shift of the page so far, without shifts caused by input. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate('window.observed.shift');
}

/** The findings of axe in these parts of the page: the rule and the element of each problem. */
export async function axeProblems(page: Page, ...parts: string[]): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(`axe.run(${JSON.stringify({ include: parts.length === 0 ? ['html'] : parts })}, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target, any }) => target.join(' ') + ' ' + (any[0]?.message ?? '')).join(' | ')))`);
}

/** Whether nothing is wider than the window. */
export const fits = (page: Page): Promise<boolean> => page.evaluate('document.documentElement.scrollWidth <= innerWidth');

/** Saves a screenshot of the page, for a person to look at. The folder is not in the repository. */
export async function keepPicture(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage, animations: 'disabled' });
}

/** Waits until an element has this text. */
export const shows = (page: Page, selector: string, text: string | RegExp): Promise<void> =>
  page.locator(selector, { hasText: text }).first().waitFor({ timeout: 30_000 });
