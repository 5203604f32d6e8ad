/**
 * Lets one step at a time take the space of the page. The browser closes the step that was open, which may be above the one that a person
 * opens: without a scroll the opened one would leave the window.
 */
export function showSteps(): void {
  // The browser itself opens the step that the address names, but not in a page that is loaded again.
  const named = document.getElementById(location.hash.slice(1))?.closest<HTMLDetailsElement>('.step > details');
  if (named) named.open = true;
  for (const summary of document.querySelectorAll<HTMLElement>('.step summary')) {
    const step = summary.parentElement as HTMLDetailsElement;
    summary.addEventListener('click', () => {
      if (step.open) return;
      history.replaceState(null, '', `#${step.querySelector('section')!.id}`);
      step.addEventListener('toggle', () => step.scrollIntoView({ block: 'nearest' }), { once: true });
    });
  }
}
