/** Lights up what belongs to a mark: the answer or the card of the call with this id. Nothing is drawn anew for it. */
export function light(id: string | undefined): void {
  for (const lit of document.querySelectorAll('[data-lit]')) lit.removeAttribute('data-lit')
  if (id === undefined) return
  const key = CSS.escape(id)
  document.querySelector(`[data-message="${key}"], [data-call="${key}"]`)?.setAttribute('data-lit', 'true')
}
