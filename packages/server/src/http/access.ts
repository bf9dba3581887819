import { ProblemError } from '../problems.ts'
import type { Caller } from './caller.ts'

export interface AccessRules {
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  /** True if only callers on this machine are answered. */
  readonly loopbackOnly: boolean
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Refuses DNS rebinding (`Host`), pages of other origins (`Origin`) and, with `loopbackOnly`, other machines. */
export function checkAccess(request: Request, caller: Caller, rules: AccessRules): void {
  if (!isHostAllowed(caller, rules)) throw new ProblemError('host-not-allowed', hostRefusal(caller, rules))
  if (rules.loopbackOnly && !isLoopbackAddress(caller.address)) throw new ProblemError('host-not-allowed', peerRefusal(caller))
  const origin = request.headers.get('origin')
  if (origin !== null && !isOriginAllowed(origin, caller, rules)) {
    throw new ProblemError('origin-not-allowed', originDetail(origin))
  }
}

function originDetail(origin: string): string {
  return `Pages of ${cut(origin)} may not call. List that origin in cors.origins, or, if a proxy serves the page too, let the proxy keep the Host header.`
}

function hostRefusal({ host }: Caller, { loopbackOnly }: AccessRules): string {
  const advice = loopbackOnly
    ? "With auth: 'none' the name must be localhost, 127.0.0.1 or [::1]; for another, configure auth and list it in hosts."
    : 'Add the name to hosts.'
  return `The Host header names another server: ${JSON.stringify(cut(host))}. ${advice}`
}

/** A missing address usually means that a framework called `fetch` with the request alone. */
function peerRefusal({ address }: Caller): string {
  const rule = "With auth: 'none' only callers on the same machine are answered"
  if (address !== undefined) return `${rule}; this one came from ${address}. Configure auth to answer others.`
  return `${rule}, and server.fetch got no peer address. Pass the address of the caller, server.fetch(request, { remoteAddress }), use serve of @bowline/server/node, or configure auth.`
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function isLoopbackAddress(address = ''): boolean {
  return address === '::1' || /^127(\.\d{1,3}){3}$/.test(address)
}

/** Returns true for a name or address of this machine. */
export function isLoopbackHost(host: string): boolean {
  return loopbackNames.includes(host) || isLoopbackAddress(host)
}

function isHostAllowed({ host, localAddress }: Caller, rules: AccessRules): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  if (loopbackNames.includes(name)) return true
  if (rules.loopbackOnly) return false
  if (rules.hosts.includes(name) || rules.hosts.includes(host.toLowerCase())) return true
  // DNS rebinding needs a name, so an address in the Host header is safe.
  return localAddress !== undefined && name.replace(/^\[|\]$/g, '') === localAddress
}

function isOriginAllowed(origin: string, caller: Caller, rules: AccessRules): boolean {
  return origin === caller.origin || rules.origins.includes('*') || rules.origins.includes(origin)
}

function hostName(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined
}
