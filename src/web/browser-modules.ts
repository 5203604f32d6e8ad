import { editionsFrom, type Edition } from './edition.ts';

/** Modules of pages as browsers get them, by name: `home.js`. */
export type BrowserModules = () => Promise<ReadonlyMap<string, Edition>>;

/**
 * The modules of a folder, without their types. Made in a worker, because stripping the types takes tens of milliseconds.
 * @param folder its URL ends with a slash
 */
export function browserModules(folder: URL): BrowserModules {
  return editionsFrom(new URL('browser-modules-worker.ts', import.meta.url), () => folder.href);
}
