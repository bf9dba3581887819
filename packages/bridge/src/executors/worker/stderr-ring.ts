import type { Readable } from 'node:stream'

const ringBytes = 64 * 1024

/** The most recent stderr output of a worker. */
export interface StderrRing {
  tail(bytes: number): string
}

export function keepStderr(stderr: Readable): StderrRing {
  const chunks: Buffer[] = []
  let length = 0
  stderr.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    length += chunk.length
    while (length - (chunks[0]?.length ?? 0) >= ringBytes) length -= chunks.shift()?.length ?? 0
  })
  stderr.on('error', () => {})
  return { tail: (bytes) => Buffer.concat(chunks).subarray(-Math.min(bytes, ringBytes)).toString('utf8') }
}
