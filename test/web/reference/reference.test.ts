import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { channels } from '../../../src/api.ts';
import { api } from '../../api.ts';
import { asyncapiDocument } from '../../../src/web/documents/asyncapi.ts';
import { openapiDocument, type Features } from '../../../src/web/documents/openapi.ts';
import { errorSchemas } from '../../../src/web/documents/error-replies.ts';
import { Schemas } from '../../../src/web/documents/schemas.ts';
import { channelsPage } from '../../../src/web/reference/channels-page.ts';
import { errorGivers } from '../../../src/web/reference/error-givers.ts';
import { errorsPage } from '../../../src/web/reference/errors-page.ts';
import { addressesFrom } from '../../../src/web/reference/docs-files.ts';
import { docsLayout } from '../../../src/web/reference/docs-layout.ts';
import { pageOf } from '../../../src/web/reference/markdown.ts';
import { referencePage, tagged, type OpenapiParts } from '../../../src/web/reference/reference-page.ts';
import { errors, type ErrorCode } from '../../../src/errors.ts';
import { declaredErrors } from '../../../src/server/http/endpoint.ts';
import { channelErrors } from '../../../src/server/live/channel.ts';
import { closeCodes } from '../../../src/server/live/close-codes.ts';
import { forFile, sleep, start } from '../../harness.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

const codes = Object.keys(errors) as ErrorCode[];

/** The HTML without the blanks between tags. */
const dense = (page: string): string => page.replace(/\s+</g, '<').replace(/>\s+/g, '>');
const pageAt = async (path: string): Promise<string> => dense((await service.get(path)).body as string);
const idsOf = (page: string): string[] => Array.from(page.matchAll(/\sid="([^"]*)"/g), ([, id]) => id!);
/** A text as it is in the page: without the marks of code, and escaped. */
const written = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

test('the first request for a page waits until the page is made, even longer than a request may wait for Redis', async () => {
  // No other test requests the pages of these settings, so they are not made yet.
  await using slow = await start({ settings: { STORE: 'sandbox', ADMIN_API: 'on', PLAYGROUND: 'off' } });
  const reply = slow.get('/docs');
  // Time for the request to arrive. The thread that makes the pages takes longer to start.
  await sleep(20);
  // The clock jumps past the time of requests to Redis, and then stands: on a busy machine the pages take longer than any deadline.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2500);
  expect((await reply).status).toBe(200);
  clock.mockRestore();
});

/** All HTML pages below /docs, by their paths: those that the list of all pages names. */
const pages = new Map<string, string>();
for (const [, path] of (await pageAt('/docs')).matchAll(/<a href="(\/docs[^"#]*)"/g))
  if (!/\.\w+$/.test(path!) && !pages.has(path!)) pages.set(path!, await pageAt(path!));

test('the list of all pages has the guides, a page for each feature, the channels and the error codes', () => {
  const some = ['', '/readme', '/client', '/operations/runbook', '/reference/coins', '/channels', '/errors'].map((end) => `/docs${end}`);
  expect([...pages.keys()]).toEqual(expect.arrayContaining(some));
  expect(pages.size).toBeGreaterThan(40);
});

test.each([...pages.keys()])(
  'GET %s is an English HTML document under a strict policy, with nothing inline or of another host',
  async (path) => {
    const { status, headers, body } = await service.get(path);
    expect([status, headers.get('referrer-policy'), headers.get('x-content-type-options')]).toEqual([200, 'no-referrer', 'nosniff']);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    const page = dense(body);
    expect(page).toMatch(/^<!doctype html><html lang="en">/);
    expect(page).not.toMatch(/<style|<img|<script(?! type="module" src="\/pages\/modules\/docs\.js"><\/script>)|<[^>]*\s(?:style|on\w+)=/);
    // Only a link that a person follows leads to another host.
    expect(Array.from(page.matchAll(/<(?!a )[^>]*\s(?:href|src|action)="(?!\/|#|data:image)([^"]*)"/g), ([, url]) => url)).toEqual([]);
    const idsHere = idsOf(page);
    expect(idsHere.filter((id, at) => idsHere.indexOf(id) !== at)).toEqual([]);
  },
);

describe('every link', () => {
  const shown = new Map<string, Promise<string | undefined>>();
  /** The text at a path of the service. Undefined: there is none. */
  const textAt = (path: string): Promise<string | undefined> => {
    const text = shown.get(path) ?? service.get(path).then(({ status, body }) => (status === 200 ? (body as string) : undefined));
    shown.set(path, text);
    return text;
  };

  test('of a page leads to a page or a file of the service, and to a heading that it has', async () => {
    const broken: string[] = [];
    let count = 0;
    for (const [path, page] of pages) {
      for (const [, to, anchor] of page.matchAll(/<a href="([^"#]*)(?:#([^"]*))?"/g)) {
        if (/^https?:/.test(to!)) continue;
        count++;
        const text = to === '' ? page : await textAt(to!);
        const isThere = text !== undefined && (anchor === undefined || idsOf(text).includes(decodeURIComponent(anchor)));
        if (!isThere) broken.push(`${path}: ${to}#${anchor}`);
      }
    }
    expect(broken).toEqual([]);
    expect(count).toBeGreaterThan(2000);
  });

  test('of the Markdown leads to the Markdown of another page, or to a file', async () => {
    const broken: string[] = [];
    const list = (await textAt('/llms.txt'))!;
    const guides = Array.from(list.matchAll(/\]\(([^)]*)\)/g), ([, path]) => path!);
    expect(guides.length).toBeGreaterThan(30);
    for (const guide of guides) {
      const text = await textAt(guide);
      if (text === undefined) broken.push(guide);
      const links = (text ?? '').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/\]\((?!https?:)([^)#]*)[^)]*\)/g);
      for (const [, to] of links) if ((await textAt(to!)) === undefined) broken.push(`${guide}: ${to}`);
    }
    expect(broken).toEqual([]);
  });
});

test('the Markdown of a feature has its example and its calls', async () => {
  const { body } = await service.get('/docs/reference/coins.md');
  expect(body).toMatch(/^# Coins\n[\s\S]*```html\n[\s\S]*\n## Calls\n/);
  expect(body).toContain('- `POST /v1/coins/debit`: Removes coins, once per key');
});

test('a path of no page is refused, and shows no other file', async () => {
  for (const path of [
    '/docs/no-such',
    '/docs/..%2fpackage.json',
    '/docs/playground.png',
    '/docs/decisions/deletion',
    '/docs/reference/nothing',
  ])
    expect([path, (await service.get(path)).status]).toEqual([path, 404]);
});

test('a person who asks for a page that is not there gets a page that leads on, and a program the error', async () => {
  const asked = (accept: string) => fetch(`${service.url}/docs/coins`, { headers: { accept } });
  const page = await asked('text/html');
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await page.text()).toContain('<a class="button" href="/docs">');
  expect(await (await asked('application/json')).json()).toMatchObject({ ok: false, error: { code: 'not_found' } });
});

test('the search finds the sections of all pages by their text', async () => {
  const { ok, sections } = (await service.get('/docs/search.json')).body as {
    ok: boolean;
    sections: { href: string; title: string; page: string; text: string }[];
  };
  expect(ok).toBe(true);
  const of = (href: string) => sections.find((section) => section.href === href);
  expect(of('/docs/reference/coins#debitCoins')).toMatchObject({ title: '/coins/debit', page: 'Coins' });
  expect(of('/docs/reference/coins#debitCoins')!.text).toContain('insufficient_coins');
  expect(of('/docs/client#saves')!.text).toContain('A save is data that a game keeps for its player under a name');
  expect(of('/docs/errors#key_reused')).toBeDefined();
  expect(sections.filter(({ text }) => /class="|<\/code>/.test(text)).map(({ href }) => href)).toEqual([]);
});

describe('the reference', () => {
  test('has a section with a form for every operation of the OpenAPI document', async () => {
    const { paths } = (await service.get('/openapi.json')).body as {
      paths: Record<string, Record<string, { operationId: string; tags: [string] }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, tags }]) => ({
        operationId,
        page: pages.get(`/docs/reference/${tags[0]}`)!,
        form: `data-method="${method.toUpperCase()}" data-path="${path}"`,
      })),
    );
    expect(operations.length).toBeGreaterThan(50);
    for (const { operationId, form, page } of operations) {
      // The start of the documentation leads to each call.
      expect(pages.get('/docs')).toContain(`<li id="${operationId}"`);
      expect(page).toContain(`<article class="operation" id="${operationId}"`);
      expect(page).toContain(form);
    }
  });

  test('shows the fields of a body with their types, bounds and meaning', async () => {
    const page = pages.get('/docs/reference/coins')!;
    expect(page).toMatch(/<h1 id="title">Coins<\/h1><p>Each player has a balance.*?client\.coins\.credit/s);
    const credit = /id="creditCoins".*?<\/article>/s.exec(page)![0];
    expect(credit).toContain(
      '<code>coins</code><span class="type">whole number, 1 to 1,000,000</span><span class="required">required</span></p><p>Whole coins, 1 to 1,000,000.</p>',
    );
    expect(credit).toContain('<a href="/docs/errors#key_reused"><code>key_reused</code></a>');
    // The form sends the installId as a header, so its body has none.
    const body = /<textarea[^>]*>(.*?)<\/textarea>/s.exec(credit)![1]!;
    expect(JSON.parse(body.replaceAll('&#34;', '"'))).toEqual({ coins: 10, key: 'level-7' });
  });

  test('has the endpoints of the sandbox only with STORE=sandbox', async () => {
    await using production = await start({ settings: { STORE: 'off' } });
    const page = pages.get('/docs/reference/sandbox')!;
    for (const { path } of api.filter(({ path }) => path.startsWith('/sandbox'))) expect(page).toContain(`data-path="${path}"`);
    expect((await production.get('/docs/reference/sandbox')).status).toBe(404);
    expect((await production.get('/docs')).body).not.toContain('sandboxIssue');
    expect((await production.get('/docs/errors')).body).not.toContain('<code>/sandbox/');
  });
});

test('the channels page has a section for each channel and each message, and the close codes', async () => {
  const page = await pageAt('/docs/channels');
  expect(idsOf(page)).toEqual(expect.arrayContaining(['roomsByCodeLive', 'roomsByCodeLive-room', 'pairLive', 'pairLive-error']));
  expect(/id="roomsByCodeLive-hello".*?<\/article>/s.exec(page)![0]).toContain('Sent by the client.');
  expect(/id="roomsByCodeLive-welcome".*?<\/article>/s.exec(page)![0]).toContain('Sent by the service.');
  for (const code of Object.values(closeCodes)) expect(page).toContain(`<code>${code}</code>`);
});

describe('the error codes', () => {
  const rowOf = (page: string, code: string): string => new RegExp(`<tr id="${code}".*?</tr>`, 's').exec(page)![0];

  test('have a row each, under their status, with the meaning, the advice, and every endpoint and channel that declares them', async () => {
    const { body } = await service.get('/docs/errors');
    const page = dense(body);
    for (const code of codes) {
      const { status, message, advice } = errors[code];
      const row = rowOf(page, code);
      const text = rowOf(body, code)
        .replace(/<[^>]*>/g, '')
        .replace(/\s+/g, ' ');
      for (const part of [message, advice.replaceAll('`', '')]) expect(text).toContain(written(part));
      expect(page.slice(0, page.indexOf(row)).lastIndexOf(`id="status-${status}"`)).toBeGreaterThan(0);
      const givers = [
        ...api.filter((endpoint) => declaredErrors(endpoint).includes(code)).map(({ path }) => path),
        ...channels.filter((channel) => channelErrors(channel).includes(code)).map(({ path }) => path),
      ];
      const named = Array.from(row.matchAll(/<\/b><code>([^<]*)<\/code><\/a><\/li>/g), ([, path]) => path!);
      expect([code, named.toSorted()]).toEqual([code, givers.toSorted()]);
      expect([code, row]).toEqual([code, expect.stringMatching(/data-label="Given by">.+?<\/td>/s)]);
    }
    expect(rowOf(page, 'not_found')).toContain('Every path that the service does not have.');
  });

  test('have advice in whole sentences, each its own', () => {
    const advices = codes.map((code) => errors[code].advice);
    expect(new Set(advices).size).toBe(codes.length);
    expect(advices).toEqual(codes.map(() => expect.stringMatching(/^[A-Z][^]{20,}\.$/)));
  });
});

test('the pages escape all text of declarations', () => {
  const features: Features = {
    '<b>"feature"': [
      {
        ...{ method: 'POST', path: '/{x}/<x>', operationId: 'x', caller: 'optional', summary: '<script>alert(1)</script>' },
        description: "`<i>` & 'it'\n\n- <i>",
        params: z.object({ x: z.string().meta({ description: '<i>', example: '"><i>' }) }),
        body: z.object({ '<x>': z.enum(['<i>', '</textarea><i>']).meta({ description: '<i>' }) }),
        reply: z.object({ '<x>': z.object({ '<i>': z.string() }) }),
        ...{ errors: ['room_full'], example: 'curl $base/<x>' },
      },
    ],
  };
  const sends = { '<x>': z.object({ '<x>': z.literal('<i>') }) };
  const live = [{ path: '/<x>/live', summary: '<b>"live"</b>', description: '<i>', sends, receives: {}, errors: [] }];
  const openapi = openapiDocument(features, new Schemas(errorSchemas)) as OpenapiParts;
  const about = pageOf(
    '# <i>\n\n<script>alert(1)</script>\n\n<x> and <x> [<i>](javascript:a) `<x>` ![<i>](https://x.example/i.png)\n\n```\n<x>\n```\n',
    addressesFrom('docs/x.md', [], ''),
  );
  expect(about.body.text).not.toMatch(/javascript:|<a|<img/);
  const made = [
    referencePage(tagged(openapi)[0]!, openapi),
    channelsPage(asyncapiDocument(live, new Schemas(errorSchemas, 'draft-7'))),
    errorsPage(errorGivers(features, live)),
    { path: '/docs/<x>', name: about.title, about: about.about, contents: [], main: about.body },
  ];
  const texts = made.map((page) => docsLayout(page, [{ heading: '<i>', pages: made }]));
  for (const page of texts) {
    expect(page).not.toMatch(/<script>|<x>|<i>|<b>"|"><i>/);
    expect(page).toContain('&#60;x&#62;');
  }
  expect(texts[0]).toContain('&#60;script&#62;alert(1)&#60;/script&#62;');
  expect(texts[0]).toContain('<code>&#60;i&#62;</code> &#38; &#39;it&#39;');
});
