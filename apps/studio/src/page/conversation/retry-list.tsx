import { RotateCw } from 'lucide-react'
import { describeNext } from './describe-retry.ts'
import type { Retry } from './margins.ts'

/** Failed attempts at one answer and what followed each. */
export function RetryList({ retries }: { readonly retries: readonly Retry[] }) {
  return (
    <ol data-testid="retries" aria-label="Attempts" className="mt-3 space-y-2 text-sm text-ink-soft">
      {retries.map((retry) => (
        <li key={retry.attempt} data-state={retry.state} className="flex items-start gap-2">
          <RotateCw className={`mt-1 size-3.5 shrink-0 ${isOpen(retry) ? 'animate-spin text-warn' : ''}`} aria-hidden="true" />
          <span className="min-w-0 break-words">
            Attempt {retry.attempt - 1} failed: <code className="rounded bg-sunken px-1 font-mono text-xs">{retry.error.kind}</code>{' '}
            {retry.error.message} <span className="font-medium text-ink">{describeNext(retry)}</span>
          </span>
        </li>
      ))}
    </ol>
  )
}

function isOpen({ state }: Retry): boolean {
  return state === 'announced' || state === 'under-way'
}
