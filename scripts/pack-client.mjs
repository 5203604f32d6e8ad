// `npm run pack:client` makes coinop-VERSION.tgz: the client as a package for games, without dependencies.
//
// Games cannot use the repository as a package: it has the service's dependencies, for Linux only, and Node does not strip the types of
// files in node_modules. So the package is a separate folder, dist/, with plain JavaScript and declarations that need no other file.
// `coinop/client`, `coinop/client/rooms` and `coinop/client/saves` are the files that the service serves at /client.js, /rooms.js and
// /saves.js; `coinop/client/server` is for game servers. The declarations come from the types that the service infers from its endpoints.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientParts, libraryModule } from '../src/web/client/client-module.ts';
import { cache, project } from './problem.mjs';

const dist = join(project, 'dist');
const work = join(cache, 'pack');

for (const folder of [dist, work]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}
for (const name of ['client', 'rooms', 'saves', 'server', 'react']) writeFileSync(join(dist, `${name}.js`), libraryModule(name));
mkdirSync(join(dist, 'client'));
for (const [name, text] of Object.entries(clientParts)) writeFileSync(join(dist, 'client', name), text());
writeDeclarations();
copyFileSync(join(project, 'LICENSE'), join(dist, 'LICENSE'));
copyFileSync(join(project, 'docs/clients/javascript.md'), join(dist, 'README.md'));
const { name, version, description, license } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
writeFileSync(
  join(dist, 'package.json'),
  `${JSON.stringify(
    {
      name,
      version,
      description: `${description}: the client`,
      license,
      type: 'module',
      sideEffects: false,
      // Only for games that import coinop/react.
      peerDependencies: { react: '>=18' },
      peerDependenciesMeta: { react: { optional: true } },
      exports: {
        './client': { types: './types/client.d.ts', default: './client.js' },
        './client/rooms': { types: './types/rooms.d.ts', default: './rooms.js' },
        './client/saves': { types: './types/saves.d.ts', default: './saves.js' },
        './react': { types: './types/react.d.ts', default: './react.js' },
        './client/server': { types: './types/server.d.ts', default: './server.js' },
      },
    },
    null,
    2,
  )}\n`,
);
const packed = spawnSync('npm', ['pack', dist, '--silent'], { cwd: project, encoding: 'utf8', stdio: ['ignore', 'inherit', 'inherit'] });
process.exitCode = packed.status ?? 1;

// TypeScript writes out inferred types in full. So `written` turns the types of wire.ts into types without references.
function writeDeclarations() {
  writeFileSync(
    join(work, 'written.ts'),
    `import type { ActionName, Details, Wire } from '../../src/clients/javascript/wire.ts';
type Full<T> = T extends object ? (T extends infer O ? { [K in keyof O]: Full<O[K]> } : never) : T;
const written = <T>() => undefined as unknown as Full<T>;
export const wire = written<Wire>();
export const details = written<Details>();
export const actionName = written<ActionName>();
`,
  );
  writeFileSync(
    join(work, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: 'out', rootDir: '../..' },
      files: [
        'written.ts',
        '../../src/clients/javascript/client.ts',
        '../../src/clients/javascript/rooms.ts',
        '../../src/clients/javascript/saves.ts',
        '../../src/clients/javascript/server.ts',
        '../../src/clients/javascript/react.ts',
        '../../src/clients/javascript/react-module.d.ts',
      ],
      // Without this the project's tests would be included, which have types that no declaration can name.
      include: [],
    }),
  );
  const tsc = spawnSync('tsc', ['--project', work], { cwd: project, encoding: 'utf8' });
  if (tsc.status !== 0) throw new Error(tsc.stdout || String(tsc.error));
  const types = join(dist, 'types');
  mkdirSync(types);
  const made = join(work, 'out/src/clients/javascript');
  for (const file of readdirSync(made)) {
    const text = readFileSync(join(made, file), 'utf8');
    writeFileSync(join(types, file), text.replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'").replace(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
  }
  const written = readFileSync(join(work, 'out/.cache/pack/written.d.ts'), 'utf8');
  writeFileSync(
    join(types, 'wire.d.ts'),
    written
      .replace('declare const wire:', 'type Wire =')
      .replace('declare const details:', 'type Details =')
      .replace('declare const actionName:', 'type ActionName =')
      .concat('export type Route = keyof Wire | `!${keyof Wire}`;\n'),
  );
  rmSync(work, { recursive: true });
}
