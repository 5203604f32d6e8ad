import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a server before its own code (NODE_OPTIONS=--import=…): at SIGUSR2 it throws its garbage away, so that what
 * is left of its memory is what it holds on to.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  collect();
  collect();
});
