import { editionsFrom, type Edition } from './encoded-text.ts';

/** Gives the modules of pages in the form for browsers, by names such as `home.js`. */
export type BrowserModules = () => Promise<ReadonlyMap<string, Edition>>;

/**
 * The modules of a folder, without their types. They are made in a worker thread, because stripping the types takes tens of milliseconds.
 * @param folder a URL that ends with a slash
 */
export function browserModules(folder: URL): BrowserModules {
  return editionsFrom(new URL('browser-modules-worker.ts', import.meta.url), () => folder.href);
}
