import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { ErrorBoundary } from 'react-error-boundary'

/** Error boundary: an error inside does not affect what is outside. */
export function Guarded({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <ErrorBoundary
      fallbackRender={({ error, resetErrorBoundary }) => (
        <div role="alert" className="m-4 self-start rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
          <p className="flex items-center gap-2 font-medium">
            <TriangleAlert className="size-4 text-bad" aria-hidden="true" />
            The {name} could not be drawn. The run is not touched by that.
          </p>
          <p className="mt-1 text-ink-soft">{error instanceof Error ? error.message : String(error)}</p>
          <button type="button" className="button mt-3" onClick={resetErrorBoundary}>
            Try again
          </button>
        </div>
      )}
    >
      {children}
    </ErrorBoundary>
  )
}
