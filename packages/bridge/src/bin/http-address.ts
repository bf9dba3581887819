import { isIPv4 } from 'node:net'
import { BridgeError } from '../errors.ts'

export interface HttpAddress {
  /** Host name or address; IPv6 without brackets. */
  readonly host: string
  /** Port; 0 for any free port. */
  readonly port: number
}

const addressForm = /^(?:(?:\[(?<six>[0-9a-f:.]+)\]|(?<name>[^:[\]/]+)):|:)?(?<port>\d{1,5})$/i

/** Parses `[HOST:]PORT`. Throws `CONFIG`. */
export function readAddress(text: string): HttpAddress {
  const parts = addressForm.exec(text)?.groups
  const port = Number(parts?.['port'])
  if (!parts || port > 65_535) {
    throw new BridgeError('CONFIG', `--http ${text} is not an address: use HOST:PORT, such as 127.0.0.1:8808 or [::1]:8808`)
  }
  return { host: parts['six'] ?? parts['name'] ?? '127.0.0.1', port }
}

/** Returns whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
