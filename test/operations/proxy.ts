import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../free-port.ts';
import { selfSignedCertificate } from '../self-signed.ts';
import { startProgram, type Program } from './programs.ts';

export const proxyNames = ['nginx', 'caddy'] as const;
export type ProxyName = (typeof proxyNames)[number];

/** A proxy with the sample of docs/operations: the addresses and the certificate are changed, and it listens without TLS as well. */
export interface Proxy extends Program {
  readonly name: ProxyName;
  readonly port: number;
  readonly url: string;
  readonly tlsPort: number;
  /** The last lines of its access log. */
  requestLog(): string;
}

/** The name under which the samples serve the console. */
export const OPERATORS = 'ops.play.example';

const samples = fileURLToPath(new URL('../../docs/operations/', import.meta.url));

/** Where a sample's proxy runs. */
interface Set {
  readonly folder: string;
  readonly port: string;
  readonly tlsPort: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** @param ports two services on 127.0.0.1 */
export async function startProxy(name: ProxyName, folder: string, ports: readonly [string, string]): Promise<Proxy> {
  mkdirSync(folder, { recursive: true });
  const [port, tlsPort] = [await freePort(), await freePort()];
  const { cert, key } = selfSignedCertificate();
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const [file, start] = name === 'nginx' ? (['nginx.conf', startNginx] as const) : (['Caddyfile', startCaddy] as const);
  const sample = changed(
    readFileSync(join(samples, file), 'utf8'),
    ['10.0.0.11:3000', `127.0.0.1:${ports[0]}`],
    ['10.0.0.12:3000', `127.0.0.1:${ports[1]}`],
  );
  const program = await start(sample, join(folder, file), { folder, port, tlsPort, certFile, keyFile });
  const requestLog = (): string => (name === 'nginx' ? readFileSync(join(folder, 'access.log'), 'utf8') : program.output());
  return { ...program, name, port: Number(port), url: `http://127.0.0.1:${port}`, tlsPort: Number(tlsPort), requestLog };
}

async function startNginx(sample: string, file: string, { folder, port, tlsPort, certFile, keyFile }: Set): Promise<Program> {
  const site = changed(
    sample,
    ['listen 80;', `listen 127.0.0.1:${await freePort()};`],
    ['listen [::]:80;', ''],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${tlsPort} ssl http2;\n    listen 127.0.0.1:${port};`],
    ['listen [::]:443 ssl http2;', ''],
    ['/etc/ssl/play.example.pem', certFile],
    ['/etc/ssl/play.example.key', keyFile],
    ['/var/log/nginx/coinop.log', join(folder, 'access.log')],
  );
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((what) => `${what}_temp_path ${folder}/${what};`);
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    file,
    `${user} daemon off; pid ${folder}/pid; error_log stderr warn; worker_processes 2; events { worker_connections 4096; }
http { access_log off; ${paths.join(' ')}\n${site}\n}`,
  );
  return startProgram('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], Number(port));
}

function startCaddy(sample: string, file: string, { folder, port, tlsPort, certFile, keyFile }: Set): Promise<Program> {
  const siteOf = (host: string): string => new RegExp(`^${host} \\{\\n.*?^\\}\\n`, 'ms').exec(sample)![0];
  const at = (host: string, addresses: string): string => changed(siteOf(host), [`${host} {`, `${addresses} {`]);
  const secure = (host: string, address: string): string => at(host, address).replace('{', `{\n\ttls ${certFile} ${keyFile}`);
  const sites = [
    '{\n\tadmin off\n\tauto_https off\n}',
    at('play.example', `http://127.0.0.1:${port}, http://x:${port}, http://:${port}`),
    secure('play.example', `https://:${tlsPort}`),
    secure(OPERATORS, `https://${OPERATORS}:${tlsPort}`),
  ];
  writeFileSync(file, sites.join('\n'));
  const settings = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return startProgram('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], Number(port), settings);
}

/** @throws Error if the text to replace is missing: then the sample was changed, and this file has to follow */
function changed(text: string, ...changes: (readonly [from: string, to: string])[]): string {
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`the sample has no "${from}"`);
    text = text.replaceAll(from, to);
  }
  return text;
}
