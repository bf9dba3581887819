interface Listening {
  addEventListener?(type: string, run: () => void): void
  removeEventListener?(type: string, run: () => void): void
}

/** What a browser has of it. Scripts compile these sources without the types of a page. */
type Browser = Listening & { readonly document?: Listening & { readonly visibilityState: string } }

/** Calls when the browser says that the network is back or that the page is seen again. Without a browser it never calls. */
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
