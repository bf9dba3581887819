/** Highlights the answer or card with this id. Renders nothing again. */
export function light(id: string | undefined): void {
  for (const lit of document.querySelectorAll('[data-lit]')) lit.removeAttribute('data-lit')
  if (id === undefined) return
  const key = CSS.escape(id)
  document.querySelector(`[data-message="${key}"], [data-call="${key}"]`)?.setAttribute('data-lit', 'true')
}
