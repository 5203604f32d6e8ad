// `npm run build:client` bundles src/client into src/web/client/bundle: client.js and rooms.js for pages, minified, and server.js for
// game servers; and in client/ the modules that client.js imports when a page first needs them.
// The bundles are committed, because the service runs without a build step and without a bundler among its packages.
// With `--check` it writes nothing, and ends with exit code 1 if a bundle differs from the sources.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { project } from './problem.mjs';

// Pages never download server.js, so it is not minified.
const bundles = [
  { name: 'client', minify: true },
  { name: 'rooms', minify: true },
  { name: 'server', minify: false },
];

mkdirSync(join(project, 'src/web/client/bundle/client'), { recursive: true });
const stale = [];
for (const { name, minify } of bundles) {
  const bundle = await rolldown({
    input: join(project, `src/client/${name}.ts`),
    platform: 'neutral',
    optimization: { inlineConst: true },
  });
  const { output } = await bundle.generate({ format: 'esm', minify, comments: false, chunkFileNames: 'client/[name].js' });
  await bundle.close();
  // The first file is the bundle. The others are the modules that it imports when they are needed.
  for (const { code, fileName } of output) {
    const file = join(project, 'src/web/client/bundle', fileName);
    if (!process.argv.includes('--check')) writeFileSync(file, code);
    else if (readFileSync(file, 'utf8') !== code) stale.push(file);
  }
}
if (stale.length > 0) {
  console.error(`Not built from the present sources: ${stale.join(', ')}. Run \`npm run build:client\`.`);
  process.exitCode = 1;
}
