declare const setImmediate: ((run: () => void) => unknown) | undefined

/** A model that answers at once must not starve timers. */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else postMessageTo(resolve)
  })
}

/** For browsers, whose timers may wait for milliseconds. */
function postMessageTo(run: () => void): void {
  const { port1, port2 } = new MessageChannel()
  const onMessage = (): void => {
    port1.close()
    run()
  }
  port1.addEventListener('message', onMessage, { once: true })
  port1.start()
  port2.postMessage(undefined)
}
