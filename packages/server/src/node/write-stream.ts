import type { ServerResponse } from 'node:http'

/** How long a reader may take for what was written to it before the end. */
const lingerMs = 10_000
/** Small writes that would follow each other within this time become one. */
const gatherMs = 5
const largeBytes = 16 * 1024

/**
 * Writes a body as fast as it is taken. One that fails must not look finished: what was written is delivered, if the reader
 * takes it, and then the connection ends without the terminating chunk. When the reader leaves, the body is told.
 */
export async function writeStream(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const failed = new Promise<never>((_, reject) => void reader.closed.catch(reject))
  // Told by the read, unless nobody reads because the socket is full.
  failed.catch(() => undefined)
  // A body that cannot even be cancelled has nobody left to tell.
  const leave = (): void => void reader.cancel().catch(() => undefined)
  outgoing.once('close', leave)
  let wroteAt = -Infinity
  try {
    while (!outgoing.destroyed) {
      const { done, value } = await reader.read()
      if (done) break
      if (!outgoing.write(value)) await Promise.race([drained(outgoing), failed])
      // What comes meanwhile is then taken at once. Who is not in a hurry is never kept waiting.
      const now = performance.now()
      await (now - wroteAt < gatherMs && value.length < largeBytes ? pause() : nextTurn())
      wroteAt = now
    }
    if (!outgoing.destroyed) outgoing.end()
    linger(outgoing)
  } catch {
    // The body said in its last frame what is wrong. What was written reaches the socket at the end of this turn.
    if (outgoing.writableNeedDrain) outgoing.destroy()
    else setImmediate(() => outgoing.socket?.destroySoon())
    linger(outgoing)
  } finally {
    leave()
  }
}

/** Until the socket takes more, or is gone. */
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

/** A reader that takes nothing any more must not keep its connection. */
function linger(outgoing: ServerResponse): void {
  if (outgoing.closed) return
  const timer = setTimeout(() => outgoing.destroy(), lingerMs)
  timer.unref()
  outgoing.once('close', () => clearTimeout(timer))
}
