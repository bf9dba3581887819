import type { Scope } from '@bowline/client'
import { useEffect, useState } from 'react'
import { loadFacts } from '../parts/load-patiently.ts'
import { pageAdmin } from './page-admin.ts'

/** Rights of the user's token, besides reading. */
export interface Access {
  readonly write: boolean
  /** May decide approvals and the outcome of lost calls. */
  readonly decide: boolean
  readonly delete: boolean
}

/** Reads the rights, again for each new `reason`. Returns undefined until they are known: no action is then offered. */
export function useAccess(reason: string): Access | undefined {
  const [access, setAccess] = useState<Access>()
  useEffect(() => {
    const leaving = new AbortController()
    loadFacts((abortSignal) => pageAdmin.me({ abortSignal }), leaving.signal).then(
      ({ scopes }) => {
        const may = (scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')
        setAccess({ write: may('sessions:write'), decide: may('approvals'), delete: may('sessions:delete') })
      },
      // The conversation reports errors of the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [reason])
  return access
}
