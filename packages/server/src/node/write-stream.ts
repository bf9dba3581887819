import type { ServerResponse } from 'node:http'

/** Time for a reader to take the data written before the end. */
const lingerMs = 10_000
/** Small writes that follow each other within this time are joined. */
const gatherMs = 5
const largeBytes = 16 * 1024

/**
 * Writes a body as fast as the reader takes it. A body that fails must not look complete: data already written is delivered, and
 * then the connection ends without the terminating chunk. If the reader leaves, the body is cancelled.
 */
export async function writeStream(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const failed = new Promise<never>((_, reject) => void reader.closed.catch(reject))
  // The read reports the failure, unless it is paused because the socket is full.
  failed.catch(() => undefined)
  // An error of the cancellation can be reported to no caller.
  const leave = (): void => void reader.cancel().catch(() => undefined)
  outgoing.once('close', leave)
  let wroteAt = -Infinity
  try {
    while (!outgoing.destroyed) {
      const { done, value } = await reader.read()
      if (done) break
      if (!outgoing.write(value)) await Promise.race([drained(outgoing), failed])
      // After a large write others get a turn, as the next one may be ready too. After small writes in quick succession, frames
      // that arrive during a pause are written together. A single small write is followed by the next read at once.
      const now = performance.now()
      if (value.length >= largeBytes) await nextTurn()
      else if (now - wroteAt < gatherMs) await pause()
      wroteAt = now
    }
    if (!outgoing.destroyed) outgoing.end()
    linger(outgoing)
  } catch {
    // The last frame of the body states the failure. Written data reaches the socket at the end of this turn.
    if (outgoing.writableNeedDrain) outgoing.destroy()
    else setImmediate(() => outgoing.socket?.destroySoon())
    linger(outgoing)
  } finally {
    leave()
  }
}

/** Resolves when the socket takes more data, or is closed. */
function drained(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = (): void => {
    outgoing.off('drain', done)
    outgoing.off('close', done)
    resolve()
  }
  outgoing.on('drain', done)
  outgoing.on('close', done)
  return promise
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, gatherMs))
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Closes a connection whose reader takes no more data. */
function linger(outgoing: ServerResponse): void {
  if (outgoing.closed) return
  const timer = setTimeout(() => outgoing.destroy(), lingerMs)
  timer.unref()
  outgoing.once('close', () => clearTimeout(timer))
}
