import { expect, test } from 'vitest';
import { html } from '../../src/web/html.ts';

test('values are escaped, and pieces of HTML are not', () => {
  const name = `<b onclick="x">&'`;
  expect(html`<p title="${name}">${name} ${html`<i>${1}</i>`}${[html`<u>${name}</u>`, html``]}</p>`.text).toBe(
    '<p title="&#60;b onclick=&#34;x&#34;&#62;&#38;&#39;">&#60;b onclick=&#34;x&#34;&#62;&#38;&#39; <i>1</i><u>&#60;b onclick=&#34;x&#34;&#62;&#38;&#39;</u></p>',
  );
});
