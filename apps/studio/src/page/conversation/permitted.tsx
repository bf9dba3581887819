import { useId, type ReactNode } from 'react'

interface PermittedProps {
  /** Why the token of the reader does not do. */
  readonly denied: string | undefined
  readonly children: ReactNode
}

/** Shows a question. If the token may not answer it, all of its controls are disabled and the reason stands below. */
export function Permitted({ denied, children }: PermittedProps) {
  const reason = useId()
  if (denied === undefined) return children
  return (
    <fieldset disabled aria-describedby={reason}>
      {children}
      <p id={reason} className="border-t border-line px-4 py-2 text-sm text-ink-soft">
        {denied}
      </p>
    </fieldset>
  )
}
