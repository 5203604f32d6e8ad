import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { inheritedEnvironment } from '../../environment.ts';
import type { Stand } from '../../proofs/proof.ts';
import { startChild } from '../../realtime/child.ts';

const project = fileURLToPath(new URL('../../..', import.meta.url));

const REACT = '19.3.1';

/** A component with every hook, in strict mode, which mounts everything twice. */
const app = `
import { createElement as h, StrictMode, useState } from 'react';
import { coinop } from 'coinop/client';
import { savesOf } from 'coinop/client/saves';
import { useAccount, useBoard, useLobby, usePairing, useRoom, useSave } from 'coinop/react';

export const client = coinop({ url: globalThis.coinopUrl, WebSocket: globalThis.CountedSocket });
const saves = savesOf(client);
globalThis.saves = saves;
const show = (id, ...texts) => h('p', { id }, texts.join(' '));

function Saved() {
  const { data, version, save } = useSave(saves, { game: 'duel', name: 'slot-1' });
  globalThis.save = save;
  return show('save', data?.level, version);
}

function Everything({ code, hasSaved }) {
  const { account, connection } = useAccount(client);
  const { room, me, played } = useRoom(client, code);
  const { top } = useBoard(client, 'pebble-drop');
  const { rooms } = useLobby(client, { game: 'duel' });
  const { token, status, claimedBy } = usePairing(client);
  globalThis.played = played;
  globalThis.token = token;
  return h('main', {},
    show('account', account?.balanceCoins, connection.status),
    show('room', room?.players.map(({ name, data }) => name + JSON.stringify(data)).join(), me?.id),
    show('board', top?.map(({ score }) => score).join()),
    show('lobby', rooms?.length),
    show('pairing', status, claimedBy?.name),
    hasSaved ? h(Saved) : null,
  );
}

export function App() {
  const [code, setCode] = useState(globalThis.code);
  const [isShown, setShown] = useState(true);
  const [hasSaved, setSaved] = useState(false);
  Object.assign(globalThis, { setCode, setShown, setSaved });
  return h(StrictMode, {}, isShown ? h(Everything, { code, hasSaved }) : show('nothing', 'nothing'));
}
`;

const page = `
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { App, client } from './app.js';
globalThis.client = client;
createRoot(document.getElementById('root')).render(createElement(App));
`;

const onServer = `
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
globalThis.coinopUrl = 'http://127.0.0.1:9';
globalThis.CountedSocket = class { constructor() { throw new Error('a socket on a server'); } };
const { App, client } = await import('./app.js');
console.log(renderToString(createElement(App)));
client.close();
`;

/** Renders the hooks of `coinop/react` on a server and in Chromium. @param folder with the packed client installed */
export async function proveReact({ folder, figures, closing }: Stand): Promise<void> {
  const packages = [`react@${REACT}`, `react-dom@${REACT}`];
  const npm = spawnSync('npm', ['install', ...packages, '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], {
    cwd: folder,
    encoding: 'utf8',
    env: inheritedEnvironment({}),
  });
  figures.report(`npm fetches React ${REACT}`, npm.status === 0 ? 'yes' : npm.stderr, 'yes', npm.status === 0);
  if (npm.status !== 0) return;
  for (const [name, text] of Object.entries({ app, page, server: onServer })) writeFileSync(join(folder, `${name}.js`), text);
  const rendered = spawnSync(process.execPath, ['server.js'], { cwd: folder, encoding: 'utf8', env: inheritedEnvironment({}) });
  const isRendered = rendered.stdout.trim().startsWith('<main><p id="account"> connecting</p>');
  figures.report('rendered on a server', isRendered ? 'yes' : rendered.stdout + rendered.stderr, 'yes', isRendered);

  const service = await startChild({ DATA_DIR: join(folder, 'data') });
  closing.push(() => service.stop());
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  closing.push(() => browser.close());
  const shown = await open(await browser.newPage(), folder, service.url, closing);
  const { text, run, errors } = shown;
  const post = async (path: string, body: object): Promise<Record<string, any>> =>
    (
      await fetch(service.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    ).json() as never;
  const held = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    const until = performance.now() + 15_000;
    while (!(await holds()) && performance.now() < until) await new Promise((done) => setTimeout(done, 20));
    const isHeld = await holds();
    figures.report(what, isHeld ? 'yes' : 'no', 'yes', isHeld);
  };

  await held('the account is live', async () => (await text('account')) === '0 live');
  const installId = await run<string>('client.who().then(({ installId }) => installId)');
  await post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
  await held('useAccount shows coins that come from elsewhere', async () => (await text('account')) === '5 live');
  await post('/v1/highscores/pebble-drop', { installId: 'install-other', score: 30, name: 'Bob' });
  await held('useBoard shows a score', async () => (await text('board')) === '30');
  await post('/v1/rooms', { installId: 'install-other', game: 'duel', public: true, name: 'Bob' });
  await held('useLobby shows an open room', async () => (await text('lobby')) === '1');
  const code = await run<string>("client.rooms.create({ name: 'Ada' }).then(({ room }) => (setCode(room.code), room.code))");
  await held('useRoom shows a room whose code comes later, and the own player', async () => (await text('room')) === 'Adanull p1');
  await run('void played.set({ x: 1 })');
  await post(`/v1/rooms/${code}/join`, { installId: 'install-other', name: 'Bob' });
  await held('useRoom shows acts of this page and of others', async () => (await text('room')) === 'Ada{"x":1},Bobnull p1');
  await run("saves.save({ game: 'duel', name: 'slot-1', data: { level: 1 } }).then(() => setSaved(true))");
  await held('useSave loads a save', async () => (await text('save')) === '1 1');
  await run('void save({ level: 2 })');
  await held('useSave keeps the next one', async () => (await text('save')) === '2 2');
  await run('void 0');
  await held('usePairing shows a pairing', async () => (await text('pairing')) === 'pending ');
  await held('strict mode opens each channel once', async () => (await run<string>('String(opened)')) === '5');
  await run('void setShown(false)');
  await held('unmounting closes every channel', async () => (await run<string>('String(open)')) === '0');
  for (let count = 0; count < 20; count++) await run('(setShown(true), new Promise((done) => setTimeout(() => done(setShown(false)), 4)))');
  await held('unmounting in the middle of every call leaves none open', async () => (await run<string>('String(open)')) === '0');
  await run('void setShown(true)');
  await held('mounted again, all is live', async () => (await text('account')) === '5 live' && (await text('pairing')) === 'pending ');
  await post('/v1/pair/claim', { token: await run('token'), installId, name: 'Ada' });
  await held('usePairing shows who claimed', async () => (await text('pairing')) === 'claimed Ada');
  figures.report('errors in the console', errors.length === 0 ? 'none' : errors.join('; '), 'none', errors.length === 0);
}

/** Where Chromium is. If it is nowhere, its start fails. */
export function chromiumPath(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const places = [...folders.map((folder) => join(folder, 'chromium')), join(project, '.cache/chromium/chromium')];
  return places.find((place) => existsSync(place)) ?? 'chromium';
}

/** Bundles the page, serves it on a free port and opens it. */
async function open(shown: Page, folder: string, serviceUrl: string, closing: Stand['closing']) {
  const bundle = await rolldown({
    input: join(folder, 'page.js'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
  });
  await bundle.write({ dir: join(folder, 'built'), format: 'esm' });
  await bundle.close();
  const html = `<!doctype html><div id="root"></div><script>
globalThis.coinopUrl = '${serviceUrl}';
globalThis.opened = globalThis.open = 0;
globalThis.CountedSocket = class extends WebSocket {
  constructor(url) { super(url); opened++; open++; this.addEventListener('close', () => open--); }
};
</script><script type="module" src="/page.js"></script>`;
  const server = createServer((request, response) => {
    const file = join(folder, 'built', request.url!);
    const isModule = request.url!.endsWith('.js') && existsSync(file);
    response.writeHead(200, { 'content-type': isModule ? 'text/javascript' : 'text/html' });
    response.end(isModule ? readFileSync(file) : html);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const errors: string[] = [];
  shown.on('pageerror', ({ message }) => errors.push(message));
  shown.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await shown.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return {
    errors,
    text: (id: string) => shown.locator(`#${id}`).textContent({ timeout: 5000 }),
    run: <Value>(script: string) => shown.evaluate(script) as Promise<Value>,
  };
}
