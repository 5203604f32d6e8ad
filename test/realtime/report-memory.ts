import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a service before its own code (NODE_OPTIONS=--import=…). On SIGUSR2 it collects garbage and prints the remaining memory:
 * bytes of V8's heap, of external memory that V8 knows of, and of resident memory.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
let count = 0;
process.on('SIGUSR2', () => {
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  console.error(`memory ${++count} ${heapUsed + external} ${rss}`);
});
