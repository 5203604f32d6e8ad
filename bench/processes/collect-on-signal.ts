import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a server before its own code (NODE_OPTIONS=--import=…). On SIGUSR2 it runs the garbage collector, so that the
 * memory measured afterwards is in use.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  collect();
  collect();
});
