// `npm run build:client` bundles src/clients/javascript into src/web/client/bundle: client.js, rooms.js and saves.js for pages, minified,
// and server.js for game servers; react.js with hooks of React; and in client/ the modules that client.js imports when a page first needs
// them.
// The bundles are committed, because the service runs without a build step and without a bundler among its packages.
// With `--check` it writes nothing, and ends with exit code 1 if a bundle differs from the sources.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { project } from './problem.mjs';

// Pages never download server.js and react.js as they are, so these are not minified.
const bundles = [
  { name: 'client', minify: true },
  { name: 'rooms', minify: true },
  { name: 'saves', minify: true },
  { name: 'server', minify: false },
  { name: 'react', minify: false },
];

mkdirSync(join(project, 'src/web/client/bundle/client'), { recursive: true });
const stale = [];
for (const { name, minify } of bundles) {
  const bundle = await rolldown({
    input: join(project, `src/clients/javascript/${name}.ts`),
    platform: 'neutral',
    // The hooks of React use the game's own React, and the package's rooms.js.
    external: name === 'react' ? ['react', join(project, 'src/clients/javascript/rooms.ts')] : [],
    optimization: { inlineConst: true },
  });
  const { output } = await bundle.generate({ format: 'esm', minify, comments: false, chunkFileNames: 'client/[name].js' });
  await bundle.close();
  // The first file is the bundle. The others are the modules that it imports when they are needed.
  for (const { code: bundled, fileName } of output) {
    const code = bundled.replace(/(["'])\.[\w./-]*rooms\.ts\1/, '"./rooms.js"');
    const file = join(project, 'src/web/client/bundle', fileName);
    if (!process.argv.includes('--check')) writeFileSync(file, code);
    else if (readFileSync(file, 'utf8') !== code) stale.push(file);
  }
}
if (stale.length > 0) {
  console.error(`These bundles are not made from the current sources: ${stale.join(', ')}. Run \`npm run build:client\`.`);
  process.exitCode = 1;
}
