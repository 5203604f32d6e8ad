// The script of the pages below /docs: search, copying, marking the section in view, and the forms that send requests.

const all = <Found extends Element = HTMLElement>(selector: string, within: ParentNode = document): Found[] => [
  ...within.querySelectorAll<Found>(selector),
];

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, text: string, className = ''): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

/** The addresses that stand for this service in samples. */
const SAMPLE_ORIGINS = /https:\/\/coinop\.example|http:\/\/127\.0\.0\.1:3000|\$base(?!=)\b/g;

// Samples of requests and of games work when they are pasted. Samples of settings and proxies keep the address that they explain.
for (const code of all('.sample code')) {
  if (!/\$(ws)?base\b|\.js'|url: '/.test(code.textContent)) continue;
  code.textContent = code.textContent
    .replaceAll('$wsbase', location.origin.replace('http', 'ws'))
    .replaceAll(SAMPLE_ORIGINS, location.origin);
}

// Copying

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLButtonElement>('.copy') : null;
  if (button === null) return;
  let said = 'Copied';
  try {
    await navigator.clipboard.writeText(button.closest('figure')!.querySelector('code')!.textContent);
  } catch {
    // Browsers give the clipboard only to pages over https and from this machine. Other pages select the text.
    said = 'Select it';
    getSelection()!.selectAllChildren(button.closest('figure')!.querySelector('code')!);
  }
  button.textContent = said;
  setTimeout(() => (button.textContent = 'Copy'), 1500);
});

// Search

/** A section of a page. */
interface Section {
  readonly href: string;
  readonly title: string;
  readonly page: string;
  readonly text: string;
}

const search = document.querySelector<HTMLInputElement>('#search')!;
const found = document.querySelector('#found')!;
const results = document.querySelector<HTMLElement>('#results')!;
const pages = document.querySelector<HTMLElement>('#docs-pages')!;
const contents = document.querySelector<HTMLElement>('#contents')!;
const links = all<HTMLAnchorElement>('.parts a', pages);

/** The most sections that a search shows. */
const MOST_FOUND = 30;

/** All sections of all pages, in lower case for the comparison. Undefined before the first search. */
let sectionsRead: Promise<readonly (Section & { readonly lower: readonly [title: string, href: string, text: string] })[]> | undefined;

function readSections() {
  return (sectionsRead ??= (async () => {
    try {
      const { sections } = (await (await fetch('/docs/search.json')).json()) as { sections: Section[] };
      return sections.map((section) => {
        const { title, href, text } = section;
        return { ...section, lower: [title.toLowerCase(), href.toLowerCase(), text.toLowerCase()] as const };
      });
    } catch (error) {
      sectionsRead = undefined;
      throw error;
    }
  })());
}

/** How well a section matches a word, judged by its title, its address and its text. 0: it has not got the word. */
function weightOf(word: string, [title, href, text]: readonly [string, string, string]): number {
  const words = title.split(/[^a-z0-9_]+/);
  if (words.includes(word)) return 12;
  if (title.includes(word)) return 8;
  if (href.includes(word)) return 4;
  return text.includes(word) ? Math.min(3, text.split(word).length - 1) : 0;
}

async function find(): Promise<void> {
  const asked = search.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  pages.hidden = words.length > 0;
  results.hidden = words.length === 0;
  if (words.length === 0) return void (found.textContent = '');
  try {
    const sections = await readSections();
    if (search.value !== asked) return;
    const hits = sections
      .map((section) => ({ section, weights: words.map((word) => weightOf(word, section.lower)) }))
      .filter(({ weights }) => weights.every((weight) => weight > 0))
      .map(({ section, weights }) => ({ section, weight: weights.reduce((sum, weight) => sum + weight, 0) }))
      .toSorted((one, other) => other.weight - one.weight);
    results.replaceChildren(...hits.slice(0, MOST_FOUND).map(({ section }) => hit(section, words[0]!)));
    found.textContent = hits.length === 0 ? 'Nothing has all these words.' : `${hits.length} found`;
  } catch {
    found.textContent = 'The service does not answer. Try again.';
  }
}

/** A line of the results: the title, the page, and the text around the word. */
function hit({ href, title, page, text }: Section, word: string): HTMLElement {
  const link = element('a', '');
  link.href = href;
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 30);
  link.append(element('span', title), element('span', page === title ? '' : page, 'hint'));
  link.append(element('span', `${at === 0 ? '' : '… '}${text.slice(at, at + 110)}`, 'around hint'));
  const line = element('li', '');
  line.append(link);
  return line;
}

search.addEventListener('input', () => void find());

contents.addEventListener('keydown', (event) => {
  const places: HTMLElement[] = [search, ...all<HTMLAnchorElement>('a', results.hidden ? pages : results)];
  const at = places.indexOf(document.activeElement as HTMLElement);
  if (event.key === 'Enter' && at === 0 && search.value !== '') places[1]?.click();
  else if (event.key === 'ArrowDown') places[at + 1]?.focus();
  else if (event.key === 'ArrowUp') places[at - 1]?.focus();
  else return;
  event.preventDefault();
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (getComputedStyle(contents).display === 'none') contents.showPopover();
  search.focus();
  search.select();
});

// On small screens the table of contents covers the page, so a press on a link closes it.
contents.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('a') !== null && contents.matches(':popover-open')) contents.hidePopover();
});

// The section in view

const linkOf = new Map(links.map((link) => [link.hash.slice(1), link]));
const inView = new Set<Element>();
const sections = [...linkOf.keys()].map((id) => document.getElementById(id)).filter((section) => section !== null);

/**
 * Marks the link of the section in view. If several sections are in view, the section in the address is marked, because the person has just
 * gone there.
 */
function markCurrent(): void {
  const named = document.getElementById(location.hash.slice(1));
  const current = named !== null && inView.has(named) ? named : sections.find((section) => inView.has(section));
  if (current === undefined) return;
  for (const link of links) link.removeAttribute('aria-current');
  const link = linkOf.get(current.id)!;
  link.setAttribute('aria-current', 'location');
  keepInView(link);
}

/** If the list of pages scrolls separately, scrolls it so that this link is in view. */
function keepInView(link: HTMLElement): void {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = pages.getBoundingClientRect();
  if (!contents.contains(document.activeElement) && (top < frame.top || bottom > frame.bottom))
    pages.scrollTop += top - frame.top - frame.height / 2;
}

const ownLink = document.querySelector<HTMLElement>('#docs-pages [aria-current="page"]');
if (ownLink !== null) keepInView(ownLink);

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) inView[isIntersecting ? 'add' : 'delete'](target);
    markCurrent();
  },
  { rootMargin: '-80px 0px -60% 0px' },
);

/**
 * Goes to the section that the address names, and repeats that for some frames. The browser lays out the operations above the section only
 * now, and had guessed their heights wrongly, so a single jump may end up to a screen away.
 */
function goToNamed(frames = JUMP_FRAMES): void {
  const named = document.getElementById(location.hash.slice(1));
  if (named === null) return;
  named.scrollIntoView();
  if (frames > 0) requestAnimationFrame(() => goToNamed(frames - 1));
  else markCurrent();
}

const JUMP_FRAMES = 5;

addEventListener('hashchange', () => goToNamed());
if (location.hash !== '') goToNamed();
for (const section of sections) observer.observe(section);

// Trying an endpoint

/** The installId of this tab, which all forms share. A person may type another installId in its place. */
let installId = `docs-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;

/** Keeps the installId in the tab across a reload, if the browser allows that. */
function keepInstallId(id?: string): void {
  const key = 'coinop-docs:install-id';
  try {
    installId = id ?? sessionStorage.getItem(key) ?? installId;
    sessionStorage.setItem(key, installId);
  } catch {
    installId = id ?? installId;
  }
}

keepInstallId();

/** The session that a person typed into a form, to fill it into the other forms. It is a secret, so it is not stored. */
let authorization = '';

for (const form of all<HTMLFormElement>('.try form')) {
  form.closest('details')!.addEventListener('toggle', () => {
    for (const input of all<HTMLInputElement>('input', form)) {
      if (input.name === 'x-install-id') input.value = installId;
      if (input.name === 'authorization' && input.value === '') input.value = authorization;
    }
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

function askedBy(form: HTMLFormElement): Asked {
  const { method = 'GET', path = '/', type } = form.dataset;
  const inputs = all<HTMLInputElement>('input', form).filter(({ value }) => value !== '');
  const placed = (place: string) =>
    inputs.filter((input) => input.dataset['in'] === place).map(({ name, value }) => [name, value.trim()] as const);
  const query = new URLSearchParams(placed('query').map(([name, value]) => [name, value]));
  const filled = placed('path').reduce((url, [name, value]) => url.replace(`{${name}}`, () => encodeURIComponent(value)), path);
  const headers = Object.fromEntries(placed('header'));
  if (headers['x-install-id'] !== undefined) keepInstallId(headers['x-install-id']);
  if (headers['authorization'] !== undefined) authorization = headers['authorization'];
  const text = form.querySelector('textarea')?.value;
  const isForm = type === 'application/x-www-form-urlencoded';
  const body = text !== undefined && isForm ? String(new URLSearchParams(JSON.parse(text) as Record<string, string>)) : text;
  if (type !== undefined) headers['content-type'] = type;
  return { method, url: location.origin + filled + (query.size === 0 ? '' : `?${query}`), headers, body };
}

async function send(form: HTMLFormElement): Promise<void> {
  const answer = form.querySelector<HTMLElement>('.answer')!;
  const button = form.querySelector<HTMLButtonElement>('button.primary')!;
  button.disabled = true;
  answer.setAttribute('aria-busy', 'true');
  try {
    const asked = askedBy(form);
    const { method, url, headers, body } = asked;
    const began = performance.now();
    // The cache is not used, because it could show an old answer in place of the service's present answer.
    const response = await fetch(url, { method, headers, cache: 'no-store', ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const took = Math.max(1, Math.round(performance.now() - began));
    const status = element('p', '', 'status');
    status.append(
      element('b', `${response.status} ${response.statusText}`, response.ok ? 'good' : 'bad'),
      element('span', `${took} ms`, 'hint'),
      element('span', `x-request-id ${response.headers.get('x-request-id')}`, 'hint'),
    );
    answer.replaceChildren(status, ...advice(text), sample('Answer', pretty(text)), sample('The same as curl', curl(asked)));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'The body is not valid JSON: correct it.' : 'The service did not answer. Is it running?';
    answer.replaceChildren(element('p', why, 'status bad'));
  } finally {
    answer.removeAttribute('aria-busy');
    button.disabled = false;
  }
}

/** A link to the advice for the error code, if the answer is an error. */
function advice(text: string): HTMLElement[] {
  const code = /^\{"ok":false,"error":\{"code":"([a-z_]+)"/.exec(text)?.[1];
  if (code === undefined) return [];
  const link = element('a', `What to do about ${code}`);
  link.href = `/docs/errors#${code}`;
  const line = element('p', '');
  line.append(link);
  return [line];
}

/** The most characters of an answer that are shown. Longer answers, such as `/openapi.json`, would make the page slow. */
const LONGEST = 20_000;

function pretty(text: string): string {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // If the answer is not JSON, such as the text of /metrics, it is shown unchanged.
  }
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}\n… ${shown.length - LONGEST} more characters` : shown;
}

function curl({ method, url, headers, body }: Asked): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl -s ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${name === 'authorization' ? 'Bearer …' : value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ');
}

function sample(title: string, text: string): HTMLElement {
  const figure = element('figure', '', 'sample');
  const caption = element('figcaption', title, 'label apart');
  const button = element('button', 'Copy', 'copy');
  button.type = 'button';
  button.setAttribute('aria-label', `Copy: ${title}`);
  caption.append(button);
  const block = element('pre', '');
  block.tabIndex = 0;
  block.setAttribute('role', 'group');
  block.setAttribute('aria-label', title);
  block.append(element('code', text));
  figure.append(caption, block);
  return figure;
}
