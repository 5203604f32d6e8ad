import { parentPort, workerData } from 'node:worker_threads';
import { channelsPage, type AsyncapiParts } from './channels-page.ts';
import type { ErrorGivers } from './error-givers.ts';
import { errorsPage } from './errors-page.ts';
import { referencePage, type OpenapiParts } from './reference-page.ts';

const { openapi, asyncapi, givers } = workerData as { openapi: OpenapiParts; asyncapi: AsyncapiParts; givers: ErrorGivers };
parentPort!.postMessage({ reference: referencePage(openapi), channels: channelsPage(asyncapi), errors: errorsPage(givers) });
