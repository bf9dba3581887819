import type { Scope } from '@bowline/client'
import { useEffect, useState } from 'react'
import { pageAdmin } from './page-admin.ts'

/** What the reader's token may do, besides reading. */
export interface Access {
  readonly write: boolean
  /** Approvals, and what became of a call that was lost. */
  readonly decide: boolean
  readonly delete: boolean
}

/** Read again for every `reason`. Undefined until it is known: then nothing is offered. */
export function useAccess(reason: string): Access | undefined {
  const [access, setAccess] = useState<Access>()
  useEffect(() => {
    const leaving = new AbortController()
    pageAdmin.me({ abortSignal: leaving.signal }).then(
      ({ scopes }) => {
        const may = (scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')
        setAccess({ write: may('sessions:write'), decide: may('approvals'), delete: may('sessions:delete') })
      },
      // The conversation tells what is wrong with the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [reason])
  return access
}
