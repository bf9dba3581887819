import { resolve } from 'node:path'
import { SettingsError } from './settings.ts'
import type { Environment } from './settings.ts'

export type StoreChoice =
  | { readonly kind: 'memory' }
  /** Default: the file in the data folder. */
  | { readonly kind: 'sqlite'; readonly file?: string }
  | { readonly kind: 'postgres'; readonly connectionString: string }

/** Reads `DEMO_STORE`. Throws `SettingsError` if it names no store. Errors show only its scheme, because it may hold a password. */
export function storeChoiceFrom(env: Environment): StoreChoice {
  const text = env.DEMO_STORE || 'sqlite:'
  const [, scheme = text, rest = ''] = /^([^:]*:)(.*)$/.exec(text) ?? []
  switch (scheme) {
    case 'memory:':
      return { kind: 'memory' }
    case 'sqlite:':
      return { kind: 'sqlite', ...(rest && { file: resolve(rest) }) }
    case 'postgres:':
    case 'postgresql:':
      if (/^\/\/./.test(rest) && URL.canParse(text)) return { kind: 'postgres', connectionString: text }
      throw new SettingsError(`DEMO_STORE begins with ${scheme}, but names no server: write ${scheme}//user:password@host:port/database.`)
    default:
      throw new SettingsError(`DEMO_STORE begins with ${scheme}, but it must begin with sqlite:, memory: or postgres://.`)
  }
}
