import { make } from './dom.ts';

/** Copies a text to the clipboard, and says on the button whether that worked. */
export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const isCopied = await written(text);
  const label = (button.dataset['label'] ??= button.textContent);
  button.textContent = isCopied ? 'Copied' : 'Select it by hand';
  setTimeout(() => (button.textContent = label), 1600);
}

async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers give the clipboard only to pages over https and from 127.0.0.1. Other pages copy a selected text.
    const area = make('textarea', { value: text, className: 'hidden' });
    document.body.append(area);
    const focused = document.activeElement;
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return isCopied;
  }
}
