import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { childEnvironment } from '../environment.ts';
import { languageProgram } from '../languages.ts';
import { freePort } from '../free-port.ts';
import { coinop } from '../../src/clients/javascript/client.ts';
import { compiled, GODOT, UNITY } from './csharp.ts';
import { godot, inGodot, makeGodotProject } from './godot.ts';
import { isThere } from './there.ts';
import { chromiumPath } from './javascript/prove-react.ts';
import { Place } from '../proofs/place.ts';
import { reportAudit, type Stand } from '../proofs/proof.ts';
import { players } from './players.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const [python, mypy, mcs] = ['python3', 'mypy', 'mcs'].map((name) => languageProgram('clients', name)) as [string, string, string];

/** How often a process of a player is killed, and the service with its Redis. */
const KILLS = 12;
const CREDITS = 2000;

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
  const there = players.filter(({ language, program }) => isThere(stand, language, program));
  const running = there.map(({ language, coins }) => {
    const own = join(folder, language);
    mkdirSync(own);
    return { language, program: new Program([...coins(own), place.url(), own, String(CREDITS)]) };
  });
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

/** The page of the player who makes the moves with even numbers. */
const page = (
  url: string,
  code: string,
  install: string,
  moves: number,
): string => `<!doctype html><meta charset="utf-8"><p id="output"></p>
<script type="module">
  import { coinop } from '${url}/client.js';
  import { playRoom } from '${url}/rooms.js';
  const say = (text) => (document.getElementById('output').textContent += text + ' ');
  const client = coinop({ url: '${url}', installId: '${install}' });
  const room = playRoom(client, '${code}');
  let last = -1;
  room.on('refused', ({ code }) => say('REFUSED ' + code));
  room.on('change', ({ state: { move }, players }) => {
    if (move < last) say('BACK');
    last = move;
    if (players.length === 2 && move % 2 === 0 && move < ${moves} && !room.unanswered)
      room.setState({ move: move + 1 }, { ifStateSeq: room.room.stateSeq });
  });
</script>`;

/** A player of a pair. Its connection to the service is its own, so that it can be cut alone. */
interface Seat {
  kill: () => void | Promise<unknown>;
  output: () => string | Promise<string>;
  readonly line: Line;
}

const INSTALLS = ['install-of-the-first-player', 'install-of-the-second-one'] as const;
/** For so long a player is offline. */
const OFFLINE_MS = 3000;

/** Two players of different languages move in turn in one room. Each is killed and offline, and so are the service and its Redis. */
export const provePair = (first: string, second: string, moves: number) => async (stand: Stand) => {
  const { figures, folder, closing } = stand;
  const wanted = players.filter(({ language }) => language === first || language === second);
  if (!wanted.every(({ language, program }) => isThere(stand, language, program))) return;
  const place = await Place.open({ settings: { PORT: await freePort(), RATE_LIMIT: 'off', NODE_ENV: 'development' } }, stand);
  const host = coinop({ url: place.url(), store: null, installId: INSTALLS[0], timeoutMs: 60_000 });
  closing.push(() => host.close());
  const created = await host.rooms.create({ name: 'Ada', writers: 'players', state: { move: 0 } });
  if (!created.ok) throw new Error(created.error.code);
  const { code } = created.room;

  const seats: Seat[] = [];
  const ended: Promise<number>[] = [];
  for (const [index, language] of [first, second].entries()) {
    const line = await Line.open(Number(new URL(place.url()).port));
    closing.push(() => line.close());
    const install = INSTALLS[index]!;
    if (language === 'browser') {
      const tab = await tabOf(page(line.url, code, install, moves), stand);
      let output = '';
      const said = async (): Promise<string> => output + ((await tab.textContent('#output')) ?? '');
      seats.push({ line, output: said, kill: async () => ((output = await said()), await tab.reload()) });
      continue;
    }
    const { mover } = players.find((each) => each.language === language)!;
    const own = join(folder, String(index));
    mkdirSync(own);
    const program = new Program([...mover!(own), line.url, code, install, join(own, 'store'), String(moves), String(index)]);
    closing.push(() => program.stop());
    ended.push(program.ended);
    seats.push({ line, output: () => program.output, kill: () => program.kill() });
  }

  const made = async (): Promise<number> => {
    const reply = await host.rooms.read({ code });
    return reply.ok ? (reply.room.state as { move: number }).move : 0;
  };
  const reached = async (least: number): Promise<void> => {
    while ((await made()) < least) await pause(50);
  };
  const faults = [
    () => place.outage(500),
    () => seats[0]!.kill(),
    () => seats[1]!.kill(),
    () => place.killRedis(),
    () => seats[0]!.line.cut(OFFLINE_MS),
    () => seats[1]!.line.cut(OFFLINE_MS),
    () => Promise.all(seats.map(({ kill }) => kill())),
    () => place.outage(2000),
  ];
  for (const [index, fault] of faults.entries()) {
    await reached(((index + 1) * moves) / (faults.length + 1));
    await fault();
  }
  await reached(moves);
  for (const exit of await Promise.all(ended)) figures.exactly('exit code of a bot', exit, 0);
  figures.exactly(`moves of ${first} and ${second}`, await made(), moves);
  for (const [index, { output }] of seats.entries()) {
    const said = await output();
    figures.exactly(`older rooms of the player in ${[first, second][index]}`, said.split('BACK').length - 1, 0);
    // A killed player cannot know whether its last act is under way. If it is, the service refuses the next one, which knows an older room.
    const refused = said.split('REFUSED').length - 1;
    figures.report(`refused acts of the player in ${[first, second][index]}, killed 2 times`, refused, 'at most 2', refused <= 2);
  }
  await reportAudit(figures, place);
};

/** The network between a player and the service. */
class Line {
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  #isCut = false;
  readonly url: string;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(port: number): Promise<Line> {
    let take: (near: Socket) => void;
    const server = createTcpServer((near) => take(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const line = new Line(server);
    take = (near) => (line.#isCut ? near.destroy() : line.#join(near, connect(port, '127.0.0.1')));
    return line;
  }

  #join(near: Socket, far: Socket): void {
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#connections.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      one.on('error', () => {});
      one.once('close', () => (this.#connections.delete(one), other.destroy()));
    }
  }

  /** Breaks all connections, and lets no other be made for a while. */
  async cut(milliseconds: number): Promise<void> {
    this.#isCut = true;
    for (const each of this.#connections) each.destroy();
    await pause(milliseconds);
    this.#isCut = false;
  }

  close(): void {
    this.#isCut = true;
    for (const each of this.#connections) each.destroy();
    this.#server.close();
  }
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
  prepare(path: string, folder: string, url: string): readonly string[];
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
  {
    ...{ language: 'gdscript', programs: [godot], extension: 'gd', isTyped: true },
    prepare(path, folder, url) {
      const game = join(folder, 'game');
      if (!existsSync(game)) makeGodotProject(game, url);
      return ['env', `HOME=${folder}`, ...inGodot(fileURLToPath(new URL('players/readme.gd', import.meta.url)), game), path];
    },
  },
];

/** Runs the programs of the clients' READMEs: the first credit, and tic-tac-toe against the page of the example. */
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
    commands.push(readme.prepare.call({ settings }, path, folder, url));
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
