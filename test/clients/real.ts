import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { childEnvironment } from '../environment.ts';
import { languageProgram } from '../languages.ts';
import { freePort } from '../free-port.ts';
import { coinop } from '../../src/clients/javascript/client.ts';
import { compiled, GODOT, UNITY } from './csharp.ts';
import { isThere } from './there.ts';
import { chromiumPath } from './javascript/prove-react.ts';
import { Place } from '../proofs/place.ts';
import { reportAudit, type Stand } from '../proofs/proof.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const [python, mypy, mcs] = ['python3', 'mypy', 'mcs'].map((name) => languageProgram('clients', name)) as [string, string, string];
const player = (name: string): string => fileURLToPath(new URL(`players/${name}`, import.meta.url));

/** How often a process of a player is killed, and the service with its Redis. */
const KILLS = 12;
const CREDITS = 2000;
const MOVES = 1000;

/** A program of a player. It is killed and started again until it has come to its end. */
class Program {
  readonly #command: readonly string[];
  readonly #settings: Readonly<Record<string, string>>;
  readonly #input: 'ignore' | 'pipe';
  #child: ChildProcess;
  output = '';
  readonly ended: Promise<number>;
  #end!: (code: number) => void;

  constructor(command: readonly string[], settings: Readonly<Record<string, string>> = {}, input: 'ignore' | 'pipe' = 'ignore') {
    this.#command = command;
    this.#settings = settings;
    this.#input = input;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.#child = this.#start();
  }

  #start(): ChildProcess {
    const [program, ...words] = this.#command;
    const child = spawn(program!, words, { env: childEnvironment(this.#settings), stdio: [this.#input, 'pipe', 'inherit'] });
    child.stdout!.on('data', (data) => (this.output += data));
    child.once('exit', (code) => code !== null && this.#end(code));
    return child;
  }

  type(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  kill(): void {
    if (this.#child.exitCode !== null || !this.#child.kill('SIGKILL')) return;
    this.#child = this.#start();
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Players in each language earn coins, while they, the service and its Redis are killed. Each coin is there once. */
export async function proveCoins(stand: Stand): Promise<void> {
  const { figures, folder, closing } = stand;
  const place = await Place.open({ settings: { PORT: await freePort(), RATE_LIMIT: 'off' } }, stand);
  const programs: Readonly<Record<string, () => readonly string[]>> = {
    javascript: () => [process.execPath, player('coins.ts')],
    ...(isThere(stand, 'python', python) && { python: () => [python, player('coins.py')] }),
    ...(isThere(stand, 'csharp', mcs) && { csharp: () => compiled(join(folder, 'coins.exe'), player('coins.cs')) }),
  };
  const running = Object.entries(programs).map(([language, command]) => ({
    language,
    program: new Program([...command(), place.url(), join(folder, language), String(CREDITS)]),
  }));
  closing.push(() => running.forEach(({ program }) => program.stop()));
  let isOver = false;
  const ended = Promise.all(running.map(({ program }) => program.ended)).then((codes) => ((isOver = true), codes));
  let kills = 0;
  let outages = 0;
  while (!isOver && kills < KILLS) {
    await pause(200 + Math.random() * 1200);
    for (const { program } of running) program.kill();
    kills++;
    if (kills % 4 === 0) {
      await place.outage(Math.random() * 1500);
      outages++;
    } else if (kills % 4 === 2) await place.killRedis();
  }
  for (const code of await ended) figures.exactly('exit code of a player', code, 0);
  figures.needs('processes of players killed', kills * running.length, 12);
  figures.report('services killed', outages);
  for (const { language, program } of running) {
    const client = coinop({ url: place.url(), store: null, installId: program.output.trim() });
    const balance = await client.coins.balance();
    figures.exactly(`coins of the player in ${language}, who earned ${CREDITS}`, balance.ok ? balance.balanceCoins : null, CREDITS);
    client.close();
  }
  await reportAudit(figures, place);
}

/** The page of the player who makes the other moves. */
const page = (url: string): string => `<!doctype html><meta charset="utf-8"><p id="code"></p><p id="move"></p><p id="faults"></p>
<script type="module">
  import { coinop } from '${url}/client.js';
  import { lastSeat, playRoom } from '${url}/rooms.js';
  const show = (id, text) => (document.getElementById(id).textContent = text);
  const client = coinop({ url: '${url}' });
  const code = lastSeat(client)?.code ?? (await client.rooms.create({ name: 'Ada', writers: 'players', state: { move: 0 } })).room.code;
  const room = playRoom(client, code);
  let last = -1;
  let faults = 0;
  show('faults', 0);
  room.on('refused', () => show('faults', ++faults));
  room.on('change', ({ state: { move }, players }) => {
    if (move < last) show('faults', ++faults);
    last = move;
    show('move', move);
    if (players.length === 2 && move % 2 === 0 && move < ${MOVES} && !room.unanswered)
      room.setState({ move: move + 1 }, { ifStateSeq: room.room.stateSeq });
  });
  show('code', code);
</script>`;

/** A page in a browser and a bot in Python move in turn, while the service and its Redis are killed, and the page is reloaded. */
export async function proveRoom(stand: Stand): Promise<void> {
  const { figures, folder, closing } = stand;
  const place = await Place.open({ settings: { PORT: await freePort(), RATE_LIMIT: 'off', NODE_ENV: 'development' } }, stand);
  const tab = await tabOf(page(place.url()), stand);
  await tab.waitForFunction(`document.getElementById('code').textContent.length === 5`, undefined, { timeout: 120_000 });
  const code = (await tab.textContent('#code'))!;
  const bot = new Program([
    languageProgram('clients', 'python3'),
    player('mover.py'),
    place.url(),
    code,
    join(folder, 'bot'),
    String(MOVES),
  ]);
  closing.push(() => bot.stop());
  const moves = async (): Promise<number> => Number(await tab.textContent('#move'));
  const reached = async (least: number): Promise<void> => {
    while ((await moves()) < least) await pause(50);
  };
  let done = 0;
  for (const at of [0.2, 0.4, 0.6, 0.8]) {
    await reached(at * MOVES);
    if (done++ % 2 === 0) await place.outage(500);
    else await place.killRedis();
  }
  await reached(MOVES);
  figures.exactly('exit code of the bot', await bot.ended, 0);
  figures.exactly('moves of page and bot', await moves(), MOVES);
  figures.exactly('refused or older states on the page', Number(await tab.textContent('#faults')), 0);
  figures.exactly('refused or older states at the bot', bot.output.split(/REFUSED|BACK/).length - 1, 0);
  await reportAudit(figures, place);
}

/** A tab of a browser with a page of another origin than the service. */
async function tabOf(html: string, { closing }: Stand): Promise<Page> {
  const port = await freePort();
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  site.listen(Number(port), 'localhost');
  closing.push(() => (site.closeAllConnections(), site.close()));
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  closing.push(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(`http://localhost:${port}`);
  return tab;
}

/** How the programs of the README of a client are run. */
interface Readme {
  readonly language: string;
  readonly programs: readonly string[];
  readonly extension: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Checks or compiles a program. Throws with what is wrong. Returns the command that runs it; a part of a game runs in its engine only. */
  prepare(path: string, folder: string): readonly string[];
  /** Whether a person types the moves of the game. */
  readonly isTyped: boolean;
}

const pythonClient = join(project, 'src/clients/python');
const readmes: readonly Readme[] = [
  {
    ...{ language: 'python', programs: [python, mypy], extension: 'py', isTyped: false },
    settings: { PYTHONPATH: pythonClient, MYPYPATH: pythonClient },
    prepare(path, folder) {
      const flags = ['--strict', '--cache-dir', join(folder, 'mypy')];
      const { status, stdout } = spawnSync(mypy, [...flags, path], { env: childEnvironment(this.settings!), encoding: 'utf8' });
      if (status !== 0) throw new Error(stdout);
      return [python, path];
    },
  },
  {
    ...{ language: 'csharp', programs: [mcs], extension: 'cs', isTyped: true },
    prepare(path) {
      const code = readFileSync(path, 'utf8');
      const engine = /using UnityEngine/.test(code) ? UNITY : /using Godot/.test(code) ? GODOT : undefined;
      return compiled(`${path}.exe`, path, ...(engine ? [...engine, '-target:library'] : []));
    },
  },
];

/** The programs of the READMEs of the clients do what they say: a first credit, and tic-tac-toe against the page of the example. */
export async function proveReadmes(stand: Stand): Promise<void> {
  const place = await Place.open({ settings: { PORT: await freePort(), NODE_ENV: 'development' } }, stand);
  for (const readme of readmes)
    if (readme.programs.every((program) => isThere(stand, readme.language, program))) await proveReadme(readme, place.url(), stand);
}

async function proveReadme({ language, extension, settings = {}, ...readme }: Readme, url: string, stand: Stand): Promise<void> {
  const { figures, closing } = stand;
  const folder = mkdtempSync(join(stand.folder, `${language}-`));
  const text = readFileSync(join(project, 'src/clients', language, 'README.md'), 'utf8');
  const commands: (readonly string[])[] = [];
  for (const [, code] of text.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))) {
    const path = join(folder, `sample_${commands.length}.${extension}`);
    writeFileSync(path, code!.replaceAll('http://127.0.0.1:3000', url));
    commands.push(readme.prepare.call({ settings }, path, folder));
  }
  figures.atLeast(`programs of the README in ${language} that are checked or compiled`, commands.length, 2);
  for (const expected of ['You have 5', 'You have 10']) {
    const [program, ...words] = commands[0]!;
    const printed = spawnSync(program!, words, { cwd: folder, env: childEnvironment(settings), encoding: 'utf8' }).stdout.trim();
    figures.report(`the first credit in ${language} prints`, printed, expected, printed === expected);
  }
  const tab = await tabOf(
    readFileSync(join(project, 'docs/examples/tic-tac-toe.html'), 'utf8').replaceAll('http://127.0.0.1:3000', url),
    stand,
  );
  await tab.click('#open');
  await tab.waitForFunction(`document.getElementById('room').textContent.length === 5`);
  const game = new Program([...commands.at(-1)!, url, (await tab.textContent('#room'))!], settings, readme.isTyped ? 'pipe' : 'ignore');
  closing.push(() => game.stop());
  const said = async (): Promise<string> => (await tab.textContent('#said')) ?? '';
  const isOver = async (): Promise<boolean> => /has won|A draw/.test(await said());
  const cells = (): Promise<string[]> => tab.locator('#board button').allTextContents();
  let moves = 0;
  let typed = 0;
  while (!(await isOver())) {
    if ((await said()) === 'Your turn') {
      const free = (await cells()).indexOf('');
      await tab.locator('#board button').nth(free).click();
      moves++;
      // The other player may move before this is asked.
      await tab.waitForFunction(`document.querySelectorAll('#board button')[${free}].textContent !== ''`);
    } else if (readme.isTyped && game.output.split('Your turn').length - 1 > typed) {
      game.type(String((await cells()).lastIndexOf('')));
      typed++;
    }
    await pause(20);
  }
  figures.report(`how a game in ${language} ends after ${moves} moves of the page`, await said());
  if (readme.isTyped) {
    figures.exactly(`exit code of the game in ${language}`, await game.ended, 0);
    figures.report(
      `the game in ${language} ends with`,
      game.output.trim().split('\n').at(-1)!,
      await said(),
      game.output.trim().endsWith(await said()),
    );
  }
}
