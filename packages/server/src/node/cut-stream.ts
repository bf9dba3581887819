import type { ServerResponse } from 'node:http'

/**
 * The same response, whose body destroys the socket when it fails. A failed body must not look finished to the reader,
 * also not by the terminating chunk that a polite end would write.
 */
export function cutSocketOnFailure(response: Response, outgoing: ServerResponse): Response {
  if (!response.body) return response
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch {
          // The failure was told in the last frame; the socket's end ends this body.
          outgoing.destroy()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status: response.status, headers: response.headers })
}
