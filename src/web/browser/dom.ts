/** The element with this id. The page must have it. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}`);
  return element as E;
}

type Child = Node | string;

/** Makes an element of the page. Children that are strings are inserted as text, never as HTML. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** An element for a name that a person chose. Right-to-left letters in the name do not change the order of the text around it. */
export const name = (text: string): HTMLElement => make('bdi', { textContent: text });

export const formatted = (value: number): string => value.toLocaleString('en-GB');

/** `1 coin`, `1,500 coins`. */
export const inCoins = (count: number): string => `${formatted(count)} ${count === 1 ? 'coin' : 'coins'}`;

/** Shows in a live region that an action was refused or failed, and the reason. The next text in the region looks as usual again. */
export function sayProblem(said: HTMLElement, text: string): void {
  said.replaceChildren(make('span', { className: 'refused', textContent: text }));
}

/** Makes this button, which is the next step, the primary button of a part of the page. Undefined: none is. */
export function leadTo(button: Element | null | undefined, part: ParentNode): void {
  for (const other of part.querySelectorAll('button.primary, .button.primary')) other.classList.remove('primary');
  button?.classList.add('primary');
}

type Work = () => Promise<unknown> | void;

/** Runs the work when the button is pressed. Further presses do nothing until the work is done; the button keeps the focus. */
export function onPress(button: HTMLElement, work: Work): void {
  button.addEventListener('click', (event) => {
    if (!(button instanceof HTMLAnchorElement)) event.preventDefault();
    if (button.getAttribute('aria-disabled') !== 'true') runOnce(button, work);
  });
}

/**
 * Runs the work when the form is submitted. An Enter key that is held down submits many times, so further submits do nothing until the work
 * is done.
 */
export function onSubmit(form: HTMLElement, work: Work): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    runOnce(form, work);
  });
}

function runOnce(element: HTMLElement, work: Work): void {
  if (element.getAttribute('aria-busy') === 'true') return;
  element.setAttribute('aria-busy', 'true');
  void Promise.resolve(work()).finally(() => element.removeAttribute('aria-busy'));
}

/**
 * Enables or disables a button. A disabled button stays in the tab order, so that people who use the keyboard do not lose the focus.
 */
export function setEnabled(button: HTMLElement, isEnabled: boolean): void {
  if (isEnabled) button.removeAttribute('aria-disabled');
  else button.setAttribute('aria-disabled', 'true');
}
