/** A page in the background gets no frames, but its title and its sounds live on. */
const hiddenMs = 100
const frameMs = 16

/** Calls once, with the next frame; returns what cancels it. */
export function nextFrame(run: () => void): () => void {
  const target: Partial<Pick<typeof globalThis, 'requestAnimationFrame' | 'cancelAnimationFrame'>> = globalThis
  const request = target.requestAnimationFrame
  const cancel = (): void => {
    clearTimeout(timer)
    if (frame !== undefined) target.cancelAnimationFrame?.(frame)
  }
  const once = (): void => {
    cancel()
    run()
  }
  const timer = setTimeout(once, request ? hiddenMs : frameMs)
  const frame = request?.(once)
  return cancel
}
