import { createHash } from 'node:crypto'
import type { Pool } from './pool.ts'

/**
 * Returns the names of prepared statements. A name is undefined if statements cannot be prepared: each transaction may get another
 * connection of the server.
 */
export function statementNames(pool: Pool): (text: string) => string | undefined {
  const names = new Map<string, string>()
  return (text) => {
    if (!pool.canPrepare) return undefined
    const name = names.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
    return name
  }
}
