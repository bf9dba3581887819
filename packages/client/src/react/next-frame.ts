/** Delay in ms for a page in the background, which gets no frames: its title and sounds must still update. */
const hiddenMs = 100
const frameMs = 16

interface Frames {
  requestAnimationFrame?(run: () => void): number
  cancelAnimationFrame?(frame: number): void
}

/** Calls `run` once, with the next frame. Returns a function that cancels it. */
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
