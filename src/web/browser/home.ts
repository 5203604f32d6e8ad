import { copy } from './copy.ts';
import { showState } from './state.ts';

showState();
for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin;
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copies]'))
  button.addEventListener('click', () => void copy(document.getElementById(button.dataset['copies']!)!.textContent, button));
