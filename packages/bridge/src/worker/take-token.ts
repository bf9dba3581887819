import type { Readable } from 'node:stream'
import { recordOf, tokenMethod } from './meta.ts'

const newline = 10

/**
 * Reads the token if the first line is the token notification; any other line stays in the stream. The token comes through a pipe,
 * because a pipe is read only once, while other processes could read an environment variable.
 */
export function takeToken(stdin: Readable): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const done = (token?: string): void => {
      stdin.off('readable', read).off('end', ended).off('error', ended)
      // Lets a program exit that never reads stdin again. The stream can be paused only after it has noticed that it has no
      // listeners.
      setImmediate(() => {
        stdin.pause()
        resolve(token)
      })
    }
    const ended = (): void => done()
    const read = (): void => {
      for (let chunk = stdin.read() as Buffer | null; chunk !== null; chunk = stdin.read() as Buffer | null) {
        chunks.push(chunk)
        if (chunk.includes(newline)) return done(takeFirstLine(stdin, Buffer.concat(chunks)))
      }
    }
    stdin.on('readable', read).once('end', ended).once('error', ended)
  })
}

/** Must run in the same tick as the read: otherwise an empty stream ends before `unshift`. */
function takeFirstLine(stdin: Readable, head: Buffer): string | undefined {
  const end = head.indexOf(newline)
  const token = tokenIn(head.subarray(0, end).toString('utf8'))
  const rest = token === undefined ? head : head.subarray(end + 1)
  if (rest.length > 0) stdin.unshift(rest)
  return token
}

function tokenIn(line: string): string | undefined {
  if (!line.includes(tokenMethod)) return undefined
  try {
    const { method, params } = recordOf(JSON.parse(line))
    const { token } = recordOf(params)
    return method === tokenMethod && typeof token === 'string' ? token : undefined
  } catch (error) {
    // The protocol connection refuses such a line.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
