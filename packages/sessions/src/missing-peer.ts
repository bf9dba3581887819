import { missingPackage } from '@bowline/llm/arguments'
import { SessionError } from './errors.ts'

/** Returns a handler of a failed import of an optional peer, which names the peer and its user if it is not installed. */
export function missingPeer(user: string, name: string): (error: unknown) => never {
  return missingPackage(name, (message, cause) => new SessionError('invalid-config', `${user} ${message}`, { cause }))
}
