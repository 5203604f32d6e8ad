import type { RunOptions } from './debian-root.ts';

/** A condition of the machine that could break set-up, in a Debian 12 root with the project in /coinop. */
export interface Obstacle {
  readonly name: string;
  /** Shell lines that create the condition, and that undo it. */
  readonly put?: string;
  readonly away?: string;
  /** Runs instead of `setup`. */
  readonly setup?: string;
  readonly options?: RunOptions;
  /** Matches the message with which set-up must fail. Left out: set-up must succeed. */
  readonly message?: RegExp;
}

export const setup = 'cd /coinop && rm -rf .cache/redis && node scripts/setup.mjs';
const everything = 'cd /coinop && rm -rf .cache node_modules && npm run prestart';

/** Makes an apt archive with a redis-server 6.0, and pins it above Debian's. */
const pinOldRedis = `
mkdir -p /old/redis/DEBIAN /old/redis/usr/bin && cd /old
printf '#!/bin/sh\\necho "Redis server v=6.0.16 sha=0"\\n' > redis/usr/bin/redis-server && chmod 755 redis/usr/bin/redis-server
control='Package: redis-server\\nVersion: 5:6.0.16-1\\nArchitecture: amd64\\nMaintainer: nobody <nobody@example.org>\\nDescription: old\\n'
printf "$control" > redis/DEBIAN/control && dpkg-deb --build redis redis-server.deb
printf "$control""Filename: ./redis-server.deb\\nSize: $(stat -c %s redis-server.deb)\\nSHA256: $(sha256sum redis-server.deb | cut -c1-64)\\n" > Packages
echo 'deb [trusted=yes] file:/old ./' > /etc/apt/sources.list.d/old.list
printf 'Package: redis-server\\nPin: version 5:6.0.*\\nPin-Priority: 1001\\n' > /etc/apt/preferences.d/old
apt-get update && apt-cache policy redis-server | grep 'Candidate: 5:6.0.16'`;

/** `test/scripts/setup.test.ts` has more, with fake programs of Debian. */
export const obstacles: readonly Obstacle[] = [
  { name: 'packages on hold', put: 'apt-mark hold redis-server libjemalloc2', away: 'apt-mark unhold redis-server libjemalloc2' },
  {
    name: 'an older Redis pinned',
    put: pinOldRedis,
    away: 'rm -r /old /etc/apt/sources.list.d/old.list /etc/apt/preferences.d/old && apt-get update',
  },
  {
    name: 'a dead proxy for apt',
    put: `echo 'Acquire::http::Proxy "http://127.0.0.1:9";' > /etc/apt/apt.conf.d/99proxy`,
    away: 'rm /etc/apt/apt.conf.d/99proxy',
    message: /apt-get cannot reach its package sources.*127\.0\.0\.1:9/,
  },
  { name: 'a read-only home', setup: everything, options: { mounts: 'mount -t tmpfs -o ro tmpfs "$root/root"', seconds: 240 } },
  {
    name: 'an ordinary user whose npm folder belongs to root',
    put: 'useradd --create-home ada && mkdir -p /home/ada/.npm && rm -rf /coinop/.cache /coinop/node_modules && chown -R ada /coinop',
    setup: `su ada -c '${everything}'`,
    options: { seconds: 240 },
    away: 'chown -R root /coinop && userdel --remove ada',
  },
  { name: 'no package lists', put: 'rm -r /var/lib/apt/lists/*', away: 'apt-get update' },
  {
    name: 'a full disk',
    options: { mounts: 'mount -t tmpfs -o size=1m tmpfs "$root/coinop/.cache"' },
    message: /a disk is full: set-up needs \d+ MB in \/coinop/,
  },
  { name: 'a PATH without /usr/sbin', options: { env: { PATH: '/usr/bin:/bin' } } },
];
