import { Writable } from 'node:stream'

/**
 * Reserves stdout for the protocol and returns its only writer. Everything else written to stdout, such as `console.log` of agents,
 * goes to stderr, because a foreign line would break the protocol.
 */
export function reserveStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout)
  const protocol = new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) })
  process.stdout.on('error', (error: Error) => protocol.destroy(error))
  process.stdout.write = process.stderr.write.bind(process.stderr)
  return protocol
}
