import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { complaints } from './chromium.ts';

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

/**
 * Opens a page of the service and notes forbidden events: lines in the console, requests to other hosts, violations of the
 * Content-Security-Policy.
 * @param expected lines of the console that the test provokes
 */
export async function openChecked(context: BrowserContext, address: string, expected?: RegExp): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  const faults = complaints(page, expected);
  const { origin } = new URL(address);
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.origin !== origin) faults.push(`a request to ${url.origin}`);
  });
  page.on('websocket', (socket) => {
    if (new URL(socket.url()).host !== new URL(origin).host) faults.push(`a socket to ${socket.url()}`);
  });
  await page.exposeFunction('noteViolation', (text: string) => void faults.push(text));
  await page.addInitScript(OBSERVE);
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => noteViolation(violatedDirective + ' ' + blockedURI))`,
  );
  await page.goto(address);
  return { page, faults };
}

/** Waits until the buttons of the playground work. */
export async function playgroundReady(page: Page): Promise<void> {
  await page.locator('#playground:not([aria-busy])').waitFor();
}

/** The cumulative layout shift of the page so far, without shifts caused by input. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate('window.observed.shift');
}

/** The findings of axe: the rule and the element of each problem. */
export async function axeProblems(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const violations = (await page.evaluate(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target, any }) => target.join(' ') + ' ' + (any[0]?.message ?? '')).join(' | ')))`,
  )) as string[];
  return violations;
}

/** Saves a screenshot of the page, for a person to look at. The folder is not in the repository. */
export async function keepPicture(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}${name}.png`, fullPage, animations: 'disabled' });
}

/** Waits until an element has this text. */
export const shows = (page: Page, selector: string, text: string | RegExp): Promise<void> =>
  page.locator(selector, { hasText: text }).first().waitFor({ timeout: 30_000 });
