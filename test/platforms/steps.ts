import { stripVTControlCharacters } from 'node:util';
import { countAnswers, firstTour, storeTour, tourScript } from '../tour.ts';
import type { Run } from './debian-root.ts';

/** Patterns that the output of `--version` of Node and of the Redis server must match. */
export type Versions = readonly [node: RegExp, server: RegExp];

/**
 * Runs `npm start`, every line of the tour, a backup and the doctor beside credits, SIGTERM, the audit of the data that is left, and a
 * restore into another folder. Marker lines stand around the answers of the tour and the output of the commands.
 */
export function startAndTour(): string {
  const settings = 'unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY';
  return `cd /coinop
PORT=0 npm start > /start.log 2>&1 & npm=$!
for tries in {1..2000}; do grep -q '^coinop listening' /start.log && break; kill -0 $npm 2>/dev/null || break; sleep 0.1; done
url=$(sed -n 's/^coinop listening on \\([^ ]*\\).*/\\1/p' /start.log)
cat /start.log; [ -n "$url" ] || exit 1
echo "=== node $(node_modules/.bin/node -v)"
for server in redis-server valkey-server .cache/redis/redis-server; do "$server" --version 2>/dev/null && break; done | sed 's/^/=== server /'
mkdir -p /tour && cd /tour
echo === answers
(set -eu; ${settings}
${tourScript(firstTour, '$url')}
${tourScript(storeTour, '$url')}) || echo '{"ok":false,"reason":"a line of the tour failed"}'
echo === commands
cd /coinop
credit() { curl -s "$url/v1/coins/credit" -H 'content-type: application/json' -d "{\\"installId\\":\\"platform-install\\",\\"coins\\":1,\\"key\\":\\"$1\\"}"; }
(${settings}; for number in {1..50}; do credit $number; done) > /credits
(${settings}; while [ ! -e /enough ]; do credit "during-$((++number))"; done) > /credits-during & credits=$!
npm run --silent backup -- --to /backup.tar; echo "=== backup $?"
touch /enough; wait $credits; echo "=== credits $(grep -o '"ok":true' /credits | wc -l)"
(${settings}; npm run --silent doctor -- --url "$url"; echo "=== doctor $?")
echo === stopping
kill -TERM $npm; wait $npm
for tries in {1..100}; do pgrep --exact 'redis-server|valkey-server' || break; sleep 0.1; done
pgrep --exact 'redis-server|valkey-server' && echo '=== left behind'
cd /coinop && npm run --silent audit; echo "=== audit $?"
DATA_DIR=/restored npm run --silent restore -- --from /backup.tar; echo "=== restore $?"
DATA_DIR=/restored npm run --silent audit; echo "=== audit of the restored data $?"`;
}

/** What the output of `startAndTour` has to show. Each check returns a figure. @throws Error if it is wrong */
export const checks: readonly [step: string, check: (output: string, versions: Versions) => string][] = [
  ['npm start', checkStart],
  ["the README's tour", checkTour],
  ['backup, doctor, restore elsewhere', checkCommands],
];

const lastLines = (text: string, count: number): string => text.trim().split('\n').slice(-count).join('\n');

function checkStart(output: string, [node, server]: Versions): string {
  if (!output.includes('=== answers')) throw new Error(`it did not start:\n${output.trim()}`);
  const versions = [/^=== node (.*)$/m, /^=== server (.*)$/m].map((pattern) => pattern.exec(output)?.[1] ?? 'none');
  if (!node.test(versions[0]!) || !server.test(versions[1]!)) throw new Error(`it runs on ${versions.join(' and ')}`);
  if (output.includes('=== left behind')) throw new Error('its Redis outlived it');
  if (!output.includes('=== audit 0\n')) throw new Error(`the audit failed:\n${lastLines(output, 10)}`);
  return `Node ${versions.join(', ')}`;
}

function checkTour(output: string): string {
  const lines = /^=== answers\n([\s\S]*?)\n=== commands$/m.exec(output)![1]!.split('\n');
  const expected = countAnswers(firstTour) + countAnswers(storeTour);
  const refused = lines.filter((line) => !line.startsWith('{"ok":true'));
  if (refused.length > 0 || lines.length !== expected)
    throw new Error(`${lines.length} of ${expected} answers, of which these are no success:\n${refused.join('\n')}`);
  if (!lines.some((line) => line.includes('"balanceAfterCoins":100'))) throw new Error('no credit among the answers');
  return `${expected} answers`;
}

/** The backup holds every acknowledged coin, and the restored data equals the backup. The doctor reports no danger after a first start. */
function checkCommands(output: string): string {
  const report = /^=== commands\n([\s\S]*?)^=== stopping$/m.exec(output)?.[1] ?? '';
  const marks = ['backup 0', 'credits 50', 'doctor 0', 'restore 0', 'audit of the restored data 0'].map((mark) => `=== ${mark}\n`);
  const [, accounts, coins] = /, (\d+) accounts?, (\d+) coins, \d+ deleted accounts, no drift\.$/m.exec(report) ?? [];
  const missing = [...marks, `${accounts} accounts, ${coins} coins, no drift.`].filter((text) => !output.includes(text));
  if (missing.length > 0 || Number(coins) < 50) throw new Error(`missing: ${missing.join(', ')}\n${lastLines(output, 40)}`);
  const alarms = report.match(/^(danger|warning) .*$/gm) ?? [];
  if (alarms.length > 0) throw new Error(`the doctor finds on a first start:\n${alarms.join('\n')}`);
  return `${accounts} accounts, ${coins} coins`;
}

export function checkSuite({ code, output }: Run): string {
  const plain = stripVTControlCharacters(output);
  const summary = /^\s*Tests\s+(.*)$/m.exec(plain)?.[1] ?? 'no summary';
  const failed = plain.match(/^\s*(FAIL|⎯.*Unhandled).*$/gm) ?? [lastLines(plain, 15)];
  if (code !== 0) throw new Error([summary, ...new Set(failed)].join('\n'));
  return summary;
}
