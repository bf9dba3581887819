import { resolve } from 'node:path'

export type StoreChoice =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'file'; readonly folder: string }

const known = 'must be sqlite:<file>, file:<folder> or memory:'

export interface InvalidStore {
  readonly kind: 'invalid'
  /** In words that follow the name of the key. The text itself may hold a password, so it is not repeated. */
  readonly fault: string
}

/** What a text says about the store. Relative paths start from `base`. */
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
    case 'redis':
    case 'rediss':
      return invalid(`${scheme}: is not in this version; ${known}`)
    default:
      return invalid(known)
  }
}

/** As a text of the configuration names it. */
export function nameStore(choice: StoreChoice): string {
  switch (choice.kind) {
    case 'memory':
      return 'memory:'
    case 'sqlite':
      return `sqlite:${choice.file}`
    case 'file':
      return `file:${choice.folder}`
    default:
      return choice satisfies never
  }
}

function invalid(fault: string): InvalidStore {
  return { kind: 'invalid', fault }
}
