import { browserModules } from '../../web/browser-modules.ts';
import { styleSheet } from '../../web/style/style-sheet.ts';

export { section } from './section.ts';

/** The module in browser/ that the page loads. `imported`: the modules that it imports. */
export const module = 'playground';
export const imported = [
  'steps',
  'problems',
  'curl',
  'wire',
  'players',
  'coins',
  'board',
  'saves',
  'room',
  'shop',
  'sandbox',
  'sign-ins',
  'shops',
  'open-rooms',
  'room-play',
  'pairing',
  'access',
  'kept-players',
] as const;

export const modules = browserModules(new URL('browser/', import.meta.url));

export const style = styleSheet(new URL('playground.css', import.meta.url));
