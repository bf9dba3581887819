import { useId, type ReactNode } from 'react'

interface PermittedProps {
  /** Reason why the token of the user is not sufficient. */
  readonly denied: string | undefined
  readonly children: ReactNode
}

/** Shows a question. If the token may not answer it, its controls are disabled and the reason is shown below. */
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
