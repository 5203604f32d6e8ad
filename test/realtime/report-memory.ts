import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a service before its own code (NODE_OPTIONS=--import=…). On SIGUSR2 it collects garbage and prints what is left:
 * bytes of V8's heap and of the memory beside it that V8 knows of, and the resident memory.
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
