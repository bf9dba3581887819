/** Answer of a server: one piece per read, then the end of the connection. */
export type Answer = readonly (string | (() => string))[]

/** Returns the fetch of a server that gives one of these answers per connection. After the last one it cannot be reached. */
export function answering(answers: readonly Answer[]): typeof fetch {
  const left = [...answers]
  return () => {
    const pieces = left.shift()?.values()
    if (!pieces) return Promise.reject(new TypeError('down'))
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const { value, done } = pieces.next()
          if (done) controller.error(new TypeError('cut'))
          else controller.enqueue(new TextEncoder().encode(typeof value === 'function' ? value() : value))
        },
      },
      { highWaterMark: 0 },
    )
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  }
}

export const savePoint = (seq: number): string =>
  `id: ${seq}\ndata: ${JSON.stringify({ type: 'save-point', at: 1, runId: 'r1', turn: 1, seq })}\n\n`
export const delta = (id: string, text: string): string => {
  const event = { type: 'text-delta', at: 1, runId: 'r1', turn: 1, step: 1, messageId: 'm1', index: 0, delta: text }
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`
}
