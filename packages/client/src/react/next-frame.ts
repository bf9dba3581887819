/** A page in the background gets no frames, but its title and its sounds live on. */
const hiddenMs = 100
const frameMs = 16

interface Frames {
  requestAnimationFrame?(run: () => void): number
  cancelAnimationFrame?(frame: number): void
}

/** Calls once, with the next frame; returns what cancels it. */
export function nextFrame(run: () => void): () => void {
  const browser = globalThis as Frames
  const once = (): void => {
    cancel()
    run()
  }
  const timer = setTimeout(once, browser.requestAnimationFrame ? hiddenMs : frameMs)
  const frame = browser.requestAnimationFrame?.(once)
  const cancel = (): void => {
    clearTimeout(timer)
    if (frame !== undefined) browser.cancelAnimationFrame?.(frame)
  }
  return cancel
}
