import type { ServerResponse } from 'node:http'

/**
 * Writes a body as fast as it is taken. One that fails must not look finished: what was written is delivered, and then
 * the connection ends without the terminating chunk. When the reader leaves, the body is told.
 */
export async function writeStream(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const leave = (): void => {
    // A body that cannot even be cancelled has nobody left to tell.
    reader.cancel().catch(() => undefined)
  }
  outgoing.once('close', leave)
  try {
    while (!outgoing.destroyed) {
      const { done, value } = await reader.read()
      if (done) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
    if (!outgoing.destroyed) outgoing.end()
  } catch {
    // The body said in its last frame what is wrong. What was written reaches the socket at the end of this turn.
    setImmediate(() => outgoing.socket?.destroySoon())
  } finally {
    outgoing.off('close', leave)
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
