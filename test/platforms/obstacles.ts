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
}

export const setup = 'cd /coinop && rm -rf .cache/redis && node scripts/setup.mjs';
const everything = 'cd /coinop && rm -rf .cache node_modules && npm run prestart';

/** Set-up must succeed with each. `test/scripts/setup.test.ts` has more, and those with which it fails, with fake programs of Debian. */
export const obstacles: readonly Obstacle[] = [
  { name: 'packages on hold', put: 'apt-mark hold redis-server libjemalloc2', away: 'apt-mark unhold redis-server libjemalloc2' },
  { name: 'a read-only home', setup: everything, options: { mounts: 'mount -t tmpfs -o ro tmpfs "$root/root"', seconds: 240 } },
  {
    name: 'an ordinary user whose npm folder belongs to root',
    put: 'useradd --create-home ada && mkdir -p /home/ada/.npm && rm -rf /coinop/.cache /coinop/node_modules && chown -R ada /coinop',
    setup: `su ada -c '${everything}'`,
    options: { seconds: 240 },
    away: 'chown -R root /coinop && userdel --remove ada',
  },
  { name: 'no package lists', put: 'rm -r /var/lib/apt/lists/*', away: 'apt-get update' },
  { name: 'a PATH without /usr/sbin', options: { env: { PATH: '/usr/bin:/bin' } } },
];
