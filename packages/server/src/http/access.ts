import { ProblemError } from '../problems.ts'

/** What the transport knows of the caller. */
export interface Peer {
  /** Where the request comes from. */
  readonly remoteAddress?: string
  /** The address of this machine at which it arrived; a Host header may name it. */
  readonly localAddress?: string
}

export interface AccessRules {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  /** Answer callers of this machine only. */
  readonly loopbackOnly: boolean
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Keeps out DNS rebinding (`Host`), pages of other origins (`Origin`), and with `loopbackOnly` other machines. */
export function checkAccess(request: Request, peer: Peer | undefined, rules: AccessRules): void {
  const host = request.headers.get('host') ?? new URL(request.url).host
  if (!isHostAllowed(host, peer, rules)) throw new ProblemError('host-not-allowed', 'The Host header names another server.')
  if (rules.loopbackOnly && !isLoopbackAddress(peer?.remoteAddress)) {
    throw new ProblemError('host-not-allowed', 'Without credentials only callers on the same machine are answered.')
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !isOriginAllowed(origin, request, rules)) {
    throw new ProblemError('origin-not-allowed', 'Pages of this origin are not in cors.origins.')
  }
}

function isLoopbackAddress(address: string | undefined): boolean {
  const plain = plainAddress(address ?? '')
  return plain === '::1' || /^127(\.\d{1,3}){3}$/.test(plain)
}

/** A name or address that stands for this machine. */
export function isLoopbackHost(host: string): boolean {
  return loopbackNames.includes(host) || isLoopbackAddress(host)
}

function isHostAllowed(host: string, peer: Peer | undefined, rules: AccessRules): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  if (loopbackNames.includes(name)) return true
  if (rules.loopbackOnly) return false
  if (rules.hosts.includes(name) || rules.hosts.includes(host.toLowerCase())) return true
  // An address in the Host header cannot have come from a rebound name.
  return peer?.localAddress !== undefined && name.replace(/^\[|\]$/g, '') === plainAddress(peer.localAddress)
}

function isOriginAllowed(origin: string, request: Request, rules: AccessRules): boolean {
  return origin === new URL(request.url).origin || rules.origins.includes('*') || rules.origins.includes(origin)
}

function hostName(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined
}

function plainAddress(address: string): string {
  return address.replace(/^::ffff:/i, '')
}
