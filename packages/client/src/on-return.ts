interface Listening {
  addEventListener?(type: string, run: () => void): void
  removeEventListener?(type: string, run: () => void): void
}

/** Parts of a browser that this file uses. Scripts compile these sources without DOM types. */
type Browser = Listening & { readonly document?: Listening & { readonly visibilityState: string } }

/**
 * Calls `run` when the browser is online again or the page becomes visible. Without a browser it never calls. Returns a dispose
 * function.
 */
export function onReturn(run: () => void): () => void {
  const browser = globalThis as Browser
  const page = browser.document
  const onVisible = (): void => {
    if (page?.visibilityState === 'visible') run()
  }
  browser.addEventListener?.('online', run)
  page?.addEventListener?.('visibilitychange', onVisible)
  return () => {
    browser.removeEventListener?.('online', run)
    page?.removeEventListener?.('visibilitychange', onVisible)
  }
}
