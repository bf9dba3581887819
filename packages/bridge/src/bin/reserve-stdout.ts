import { Writable } from 'node:stream'

/**
 * Gives the one way to stdout. From then on everything else that is written there, `console.log` of agents included,
 * goes to stderr: one foreign line would break the protocol.
 */
export function reserveStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout)
  const protocol = new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) })
  process.stdout.on('error', (error: Error) => protocol.destroy(error))
  process.stdout.write = process.stderr.write.bind(process.stderr)
  return protocol
}
