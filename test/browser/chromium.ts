import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { test } from 'vitest';
import { isFullSize } from '../sized.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The same places as in scripts/chromium.mjs, in the same order. */
const places = [
  ...(process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => ['chromium', 'google-chrome', 'google-chrome-stable'].map((name) => join(folder, name))),
  join(project, '.cache/chromium/chromium'),
];

const executablePath = places.find((place) => {
  try {
    accessSync(place, constants.X_OK);
    return true;
  } catch {
    return false;
  }
});

/** Why the browser tests skip. Undefined: they run. With CI=true they never skip, and fail without a browser. */
export const noBrowser: string | undefined =
  executablePath !== undefined || process.env['CI'] !== undefined ? undefined : `there is no Chromium here: ${reason()}`;

if (noBrowser !== undefined) process.stderr.write(`coinop: browser tests skip: ${noBrowser}\n`);

function reason(): string {
  const file = join(project, '.cache/no-chromium');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : 'install it with "apt-get install chromium"';
}

/** `npm run prove:pages` runs all tests of the pages. `npm test` leaves out the `extra` tests, because a browser takes much CPU time. */
export const isWhole = process.env['PAGES'] === 'all';

export const extra = isWhole ? test : test.skip;

/** Tests of whole journeys, which `npm run test:long` runs too. */
export const journey = isWhole || isFullSize ? test : test.skip;

/** Widths and colour schemes in which the pages are checked. */
export const looks: readonly (readonly [width: number, colorScheme: 'light' | 'dark'])[] = isWhole
  ? [
      [1280, 'light'],
      [1280, 'dark'],
      [390, 'light'],
      [390, 'dark'],
    ]
  : [[390, 'dark']];

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: executablePath ?? 'chromium',
    args: [
      // As root Chromium has no sandbox. The tests load pages of this project only.
      '--no-sandbox',
      // A name that is no loopback name: Chromium keeps a Secure cookie of a loopback page over plain http.
      '--host-resolver-rules=MAP ops.example 127.0.0.1',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Serves pages on another origin and another site than the service: localhost instead of 127.0.0.1. */
export async function servePages(pages: () => Record<string, string>): Promise<AsyncDisposable & { readonly origin: string }> {
  const server = createServer((request, response) => {
    const text = pages()[request.url!.split('?')[0]!];
    response.writeHead(text !== undefined ? 200 : request.url === '/favicon.ico' ? 204 : 404, {
      'content-type': 'text/html; charset=utf-8',
    });
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An example of docs/examples, made for the service at this address. */
export function example(name: string, url: string): string {
  return readFileSync(join(project, 'docs/examples', name), 'utf8').replaceAll('http://127.0.0.1:3000', url);
}

/** Collects errors in the page's console, except lines about requests that fail on purpose. */
export function complaints(page: Page, expected: RegExp = /^$/): string[] {
  const lines: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !expected.test(message.text()))
      lines.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => lines.push(String(error)));
  return lines;
}

/** Presses a button, once it has done what it was pressed for before. In a page behind another page a mouse click takes Chromium 2 s. */
export const press = (page: Page, selector: string): Promise<void> =>
  page.locator(selector).and(page.locator(':not([aria-busy="true"])')).dispatchEvent('click');
