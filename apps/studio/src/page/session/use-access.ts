import type { Scope } from '@bowline/client'
import { useEffect, useState } from 'react'
import { pageAdmin } from './page-admin.ts'

/** What the reader's token may do, besides reading. */
export interface Access {
  readonly write: boolean
  readonly delete: boolean
}

/** Read again for every `reason`. Nothing is offered before it is known. */
export function useAccess(reason: string): Access {
  const [access, setAccess] = useState<Access>({ write: false, delete: false })
  useEffect(() => {
    const leaving = new AbortController()
    pageAdmin.me({ abortSignal: leaving.signal }).then(
      ({ scopes }) => {
        const may = (scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')
        setAccess({ write: may('sessions:write'), delete: may('sessions:delete') })
      },
      // The conversation tells what is wrong with the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [reason])
  return access
}
