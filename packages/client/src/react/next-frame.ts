/** A page in the background gets no frames, but its title and its sounds live on. */
const hiddenMs = 100
const frameMs = 16

/** Calls once, with the next frame; returns what cancels it. */
export function nextFrame(run: () => void): () => void {
  const { requestAnimationFrame, cancelAnimationFrame } = globalThis as Partial<typeof globalThis>
  const once = (): void => {
    cancel()
    run()
  }
  const timer = setTimeout(once, requestAnimationFrame ? hiddenMs : frameMs)
  const frame = requestAnimationFrame?.(once)
  const cancel = (): void => {
    clearTimeout(timer)
    if (frame !== undefined) cancelAnimationFrame?.(frame)
  }
  return cancel
}
