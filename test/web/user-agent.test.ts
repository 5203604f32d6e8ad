import { expect, test } from 'vitest';
import { browserOf } from '../../src/web/browser/user-agent.ts';

const [MOZILLA, WEBKIT] = ['Mozilla/5.0', 'AppleWebKit/537.36 (KHTML, like Gecko)'];

test.each([
  ['Chrome on Linux', `${MOZILLA} (X11; Linux x86_64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`],
  ['Chrome on Android', `${MOZILLA} (Linux; Android 10; K) ${WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36`],
  ['Chrome on iPhone', `${MOZILLA} (iPhone; CPU iPhone OS 18_6 like Mac OS X) ${WEBKIT} CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1`],
  ['Edge on Windows', `${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`],
  ['Opera on Windows', `${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 OPR/124.0.0.0`],
  ['Firefox on Linux', `${MOZILLA} (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0`],
  ['Safari on Mac', `${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/26.0 Safari/605.1.15`],
  ['Samsung Internet on Android', `${MOZILLA} (Linux; Android 10; K) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`],
  ['Pebble Drop 2.1 (Linux; Chrome/1)', 'Pebble Drop 2.1 (Linux; Chrome/1)'],
  ['<b>Chrome</b> 100', '<b>Chrome</b> 100'],
  ['Unknown browser', ''],
])('a person reads %s', (shown, userAgent) => {
  expect(browserOf(userAgent)).toBe(shown);
});
