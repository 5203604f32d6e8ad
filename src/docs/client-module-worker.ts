import { parentPort } from 'node:worker_threads';
import { clientModule } from './client-module.ts';

parentPort!.postMessage({ 'client.js': clientModule() });
