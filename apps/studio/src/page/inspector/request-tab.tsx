import type { DurableEvent } from '@bowline/agent-loop/events'
import type { RequestView } from '@bowline/client'
import { Columns2 } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { JsonText } from '../parts/json-text.tsx'
import { compareRequests, toolNames } from './compare-requests.ts'
import type { Comparison } from './compare-requests.ts'
import { useRequests } from './use-requests.ts'

interface RequestTabProps {
  readonly sessionId: string
  readonly log: readonly DurableEvent[]
  readonly event: DurableEvent | undefined
}

/** Request to the model at the selected event, and its difference to the previous request. */
export function RequestTab({ sessionId, log, event }: RequestTabProps) {
  const { now, before, problem } = useRequests(sessionId, log, event ? log.indexOf(event) : -1)
  if (problem !== undefined) return <p className="p-4 text-sm text-ink-soft">{problem}</p>
  if (!now) return <p className="p-4 text-sm text-ink-soft">Loading …</p>
  const comparison = compareRequests(now, before)
  return (
    <div className="space-y-5 p-4 text-sm" data-testid="request">
      <div>
        <p className="font-medium">
          {titleOf(now)} · {now.model.modelId}
        </p>
        <p className="mt-1 text-ink-soft">{describe(now, before, comparison)}</p>
        {now.omitted && <p className="mt-1 text-warn">The prompt was too large to be kept.</p>}
        {before && <SideBySide now={now} before={before} comparison={comparison} />}
      </div>
      <section aria-label="Prompt">
        <h3 className="label mb-1.5">Prompt</h3>
        {before && comparison.shared > 0 && (
          <p className="mb-2 text-ink-soft">{countOf(comparison.shared, 'message')} as in the call before, then:</p>
        )}
        <ol className="space-y-2" start={(before ? comparison.shared : 0) + 1}>
          {now.prompt.slice(before ? comparison.shared : 0).map((message, place) => (
            <li key={place}>
              <Message message={message} place={(before ? comparison.shared : 0) + place} />
            </li>
          ))}
        </ol>
      </section>
      <section aria-label="Tools offered">
        <h3 className="label mb-1.5">Tools offered</h3>
        <ul className="flex flex-wrap gap-1">
          {toolNames(now).map((name) => (
            <li
              key={name}
              className={`rounded px-1.5 font-mono text-xs leading-5 ${comparison.toolsAdded.includes(name) ? 'bg-accent-soft font-semibold' : 'bg-sunken'}`}
            >
              {name}
            </li>
          ))}
          {comparison.toolsRemoved.map((name) => (
            <li key={name} className="rounded bg-bad-soft px-1.5 font-mono text-xs leading-5">
              <s>{name}</s>
            </li>
          ))}
        </ul>
        {now.tools.length === 0 && <p className="text-ink-soft">None.</p>}
      </section>
      <JsonText label="Params" value={now.settings} />
    </div>
  )
}

function titleOf({ purpose, step, attempt }: RequestView): string {
  if (purpose === 'branch-summary') return 'Summary of a branch'
  return purpose === 'compaction' ? 'Compaction' : `Step ${step}, attempt ${attempt}`
}

function describe(
  now: RequestView,
  before: RequestView | undefined,
  { shared, toolsAdded, toolsRemoved, settingsChanged }: Comparison,
): string {
  const size = `${countOf(now.messageCount, 'message')}, ${countOf(now.toolCount, 'tool')}.`
  if (!before) return `${size} It is the first call of this session that is recorded.`
  const changes = [
    ...(shared < now.prompt.length ? [countOf(now.prompt.length - shared, 'new message')] : []),
    ...(toolsAdded.length + toolsRemoved.length > 0 ? ['other tools'] : []),
    ...settingsChanged,
  ]
  return changes.length === 0
    ? `${size} Nothing differs from the call before.`
    : `${size} Other than in the call before: ${changes.join(', ')}.`
}

function countOf(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

function Message({ message, place }: { readonly message: unknown; readonly place: number }) {
  const { role = 'message', content } = message as { readonly role?: string; readonly content?: unknown }
  return <JsonText label={`${place + 1} ${role}`} value={content} />
}

function SideBySide({
  now,
  before,
  comparison,
}: {
  readonly now: RequestView
  readonly before: RequestView
  readonly comparison: Comparison
}) {
  return (
    <Dialog.Root>
      <Dialog.Trigger className="button mt-2">
        <Columns2 className="size-4" aria-hidden="true" />
        Side by side
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content aria-describedby={undefined} className="dialog w-[min(80rem,96vw)]">
          <div className="flex items-center justify-between">
            <Dialog.Title className="text-lg font-semibold">What the model was sent</Dialog.Title>
            <Dialog.Close className="button">Close</Dialog.Close>
          </div>
          <div className="mt-4 grid grid-cols-2 gap-x-4 gap-y-3 text-sm">
            <p className="label">The call before</p>
            <p className="label">This call</p>
            {comparison.rows.map((row, place) => (
              <div key={place} className={`contents ${row.same ? '' : '[&>*]:border-l-4 [&>*]:border-accent [&>*]:pl-2'}`}>
                <div className="min-w-0">{row.before !== undefined && <Message message={row.before} place={place} />}</div>
                <div className="min-w-0">{row.now !== undefined && <Message message={row.now} place={place} />}</div>
              </div>
            ))}
            <JsonText label="Params" value={before.settings} />
            <JsonText label="Params" value={now.settings} />
            <JsonText label="Tools" value={toolNames(before).join('\n')} />
            <JsonText label="Tools" value={toolNames(now).join('\n')} />
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
