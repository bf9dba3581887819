/** Calls when the browser says that the network is back or that the page is seen again. Without a browser it never calls. */
export function onReturn(run: () => void): () => void {
  const target: Partial<EventTarget> = globalThis
  const page: Document | undefined = globalThis.document
  const onVisible = (): void => {
    if (page?.visibilityState === 'visible') run()
  }
  target.addEventListener?.('online', run)
  page?.addEventListener('visibilitychange', onVisible)
  return () => {
    target.removeEventListener?.('online', run)
    page?.removeEventListener('visibilitychange', onVisible)
  }
}
