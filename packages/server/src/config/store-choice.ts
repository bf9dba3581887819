import { resolve } from 'node:path'

export type StoreChoice =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly connectionString: string; readonly directConnectionString?: string }

const known = 'must be sqlite:<file>, file:<folder>, postgres://<user>@<host>/<database> or memory:'

export interface InvalidStore {
  readonly kind: 'invalid'
  /** Fault, worded to follow the name of the key. It does not repeat the text, which may hold a password. */
  readonly fault: string
}

/** Parses the text of a store. Relative paths start from `base`. */
export function parseStore(text: string, base: string): StoreChoice | InvalidStore {
  const [, scheme, rest = ''] = /^([a-z]+):(.*)$/.exec(text) ?? []
  switch (scheme) {
    case 'memory':
      return rest === '' ? { kind: 'memory' } : invalid(known)
    case 'sqlite':
      return rest === '' ? invalid('must name a file: sqlite:<file>') : { kind: 'sqlite', file: resolve(base, rest) }
    case 'file':
      return rest === '' ? invalid('must name a folder: file:<folder>') : { kind: 'file', folder: resolve(base, rest) }
    case 'postgres':
    case 'postgresql':
      return namesServer(text)
        ? { kind: 'postgres', connectionString: text }
        : invalid(
            `must be an address of a Postgres server: ${scheme}://<user>:<password>@<host>:<port>/<database>, or ${scheme}:///<database>?host=<folder of its socket>`,
          )
    case 'redis':
    case 'rediss':
      return invalid(`${scheme}: keeps state records only, no sessions; ${known}`)
    default:
      return invalid(known)
  }
}

function namesServer(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.hostname !== '' || Boolean(url.searchParams.get('host')))
}

/** Returns the store as the configuration names it. */
export function nameStore(choice: StoreChoice): string {
  switch (choice.kind) {
    case 'memory':
      return 'memory:'
    case 'sqlite':
      return `sqlite:${choice.file}`
    case 'file':
      return `file:${choice.folder}`
    case 'postgres':
      return nameAddress(choice.connectionString)
    default:
      return choice satisfies never
  }
}

/** Removes the password and the parameters of the address, which may hold one too. */
export function nameAddress(connectionString: string): string {
  const { protocol, username, host, pathname } = new URL(connectionString)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}

function invalid(fault: string): InvalidStore {
  return { kind: 'invalid', fault }
}
