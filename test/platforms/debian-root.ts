import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inheritedEnvironment } from '../environment.ts';

export type Release = 'bookworm' | 'trixie';

export interface Run {
  readonly code: number | null;
  /** Standard output and error, in the order they came. */
  readonly output: string;
}

export interface RunOptions {
  /** The run is killed after this long. */
  readonly seconds?: number;
  readonly env?: Record<string, string>;
  /** Shell lines that make further mounts before the run, with the folder of the root as `$root`. They end with the run. */
  readonly mounts?: string;
}

/**
 * A Debian system in a folder. Commands run in it as root. Each run has separate namespaces: the host does not see its
 * mounts and processes, and they end with the run, however it ends.
 */
export class DebianRoot {
  readonly folder: string;
  readonly #log: string;

  private constructor(folder: string, log: string) {
    [this.folder, this.#log] = [folder, log];
  }

  /** Makes a minimal system with debootstrap, and installs packages. Takes a minute or two. */
  static async make(folder: string, release: Release, packages: readonly string[], log: string): Promise<DebianRoot> {
    const mirror = hostMirror('debian');
    // debootstrap mounts /proc in the folder, and leaves the mount if it is killed. In a separate namespace the mount ends too.
    const debootstrap = ['debootstrap', '--variant=minbase', release, folder, mirror];
    expectSuccess(await execute([...namespaces, ...debootstrap], log, LONG_SECONDS));
    const root = new DebianRoot(folder, log);
    const sources = [`${mirror} ${release}`, `${mirror} ${release}-updates`, `${hostMirror('debian-security')} ${release}-security`];
    root.write('etc/apt/sources.list', sources.map((source) => `deb ${source} main\n`).join(''));
    root.write('etc/apt/apt.conf.d/90host', hostSettings());
    // The system is thrown away, so dpkg need not wait for the disk.
    root.write('etc/dpkg/dpkg.cfg.d/unsafe-io', 'force-unsafe-io\n');
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) if (existsSync(file)) copyFileSync(file, join(folder, file));
    await root.mustRun('apt-get update', { seconds: LONG_SECONDS });
    await root.install(packages);
    // The host may trust more certificates than Debian: a company's own registry or proxy may need them.
    mkdirSync(join(folder, 'etc/ssl/certs'), { recursive: true });
    if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(folder, CERTIFICATES));
    return root;
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  async install(packages: readonly string[]): Promise<void> {
    await this.mustRun(`apt-get install --yes --no-install-recommends ${packages.join(' ')}`, { seconds: LONG_SECONDS });
  }

  async mustRun(script: string, options: RunOptions = {}): Promise<string> {
    return expectSuccess(await this.run(script, options)).output;
  }

  async run(script: string, { seconds = 120, env = {}, mounts = '' }: RunOptions = {}): Promise<Run> {
    const inside = { ...hostEnvironment(), HOME: '/root', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...env };
    const enter = [
      ...['set -e', 'mount -t proc proc "$root/proc"', 'mount --bind /dev "$root/dev"', mounts],
      'exec chroot "$root" /usr/bin/env --ignore-environment "$@"',
    ].join('\n');
    const settings = Object.entries(inside).map(([name, value]) => `${name}=${value}`);
    // The outer shell is process 1 of the namespace: it waits for the command, and reaps orphaned processes.
    const command = [...settings, 'bash', '-c', `bash -c "$1"; exit $?`, 'bash', script];
    appendFileSync(this.#log, `\n# ${script}\n`);
    return execute([...namespaces, 'sh', '-c', enter, 'sh', ...command], this.#log, seconds, { root: this.folder });
  }

  /** @throws Error if something is still mounted in the folder, because then removing the folder would remove files of the host */
  remove(): void {
    const mounted = readFileSync('/proc/self/mounts', 'utf8').includes(` ${this.folder}/`);
    if (mounted) throw new Error(`something is mounted in ${this.folder}: unmount it, then remove that folder`);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];

/** Bound of the steps that take a minute on an idle machine. */
const LONG_SECONDS = 1200;

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

function expectSuccess(run: Run): Run {
  if (run.code === 0) return run;
  throw new Error(`a step failed (${run.code ?? 'killed'}):\n${run.output.trim().split('\n').slice(-15).join('\n')}`);
}

/** Runs in namespaces. Resolves at the end, or when it was killed after so many seconds. Appends the output to the log. */
function execute(args: string[], log: string, seconds: number, env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn('unshare', args, { env: inheritedEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => {
        output += text.toString();
        appendFileSync(log, text);
      });
    }
    const stop = (): void => void child.kill('SIGKILL');
    const timer = setTimeout(stop, seconds * 1000);
    process.once('exit', stop);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      process.off('exit', stop);
      resolve({ code, output: code === null ? `${output}\nkilled after ${seconds} s` : output });
    });
  });
}

/** The mirror that the host's apt uses. */
function hostMirror(archive: 'debian' | 'debian-security'): string {
  const files = globSync('/etc/apt/{sources.list,sources.list.d/*.{list,sources}}');
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const address = new RegExp(String.raw`^(?!#).*?(https?://\S+/${archive})/?(?:\s|$)`, 'm').exec(text)?.[1];
  return address ?? `http://deb.debian.org/${archive}`;
}

/** The host's apt settings for fetching, such as proxies; without its hooks and its choice of indexes. */
function hostSettings(): string {
  const { stdout = '' } = spawnSync('apt-config', ['dump', 'Acquire'], { encoding: 'utf8' });
  const lines = stdout.split('\n').filter((line) => /^Acquire::(https?|Check-|Retries|ForceIPv|Allow)\S* "[^"]+";$/.test(line));
  return `${lines.join('\n')}\n`;
}

/** Proxies, npm's registry, and the certificates that `make` copies. */
function hostEnvironment(): Record<string, string> {
  const proxies = Object.entries(process.env).filter(([name]) => /^(https?|no|all)_proxy$/i.test(name)) as [string, string][];
  const registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim();
  return { ...Object.fromEntries(proxies), npm_config_registry: registry, NODE_EXTRA_CA_CERTS: CERTIFICATES };
}
