import { parentPort, workerData } from 'node:worker_threads';
import { docsSite, type DocsSources } from './docs-site.ts';

parentPort!.postMessage(docsSite(workerData as DocsSources));
