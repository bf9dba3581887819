import { toolCallOf } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import type { ReactNode } from 'react'
import { toolState } from '../conversation/tool-state.ts'
import { formatCost } from '../conversation/spend-line.tsx'
import { formatDuration } from '../parts/duration.ts'
import { entryOf } from '../parts/growing.ts'
import { toolLabel } from '../parts/tool-label.ts'
import type { Moment } from '../past/moment.ts'
import { spentOf, sumSpent } from '../past/spending.ts'
import type { Spent } from '../past/spending.ts'

/** State of the session at the selected event. */
export function StateTab({ moment }: { readonly moment: Moment }) {
  const { view, spending, starts, plan, margins } = moment
  const questions = [
    ...view.pendingApprovals.map((request) => ({ id: request.approvalId, text: `Approval of ${labelOf(view, request)}` })),
    ...view.pendingToolCalls.map((call) => ({
      id: call.toolCallId,
      text: call.unknown ? `What became of ${labelOf(view, call)}` : `Result of ${labelOf(view, call)}`,
    })),
  ]
  const latest = spending.runs.find(({ runId }) => runId === view.runId) ?? spentOf(view)
  const last = view.messages.findLast(({ role }) => role === 'assistant')
  const step = last?.id === undefined ? undefined : entryOf(spending.steps, last.id)
  const calls = view.toolCalls.slice(-mostCalls)
  return (
    <div className="space-y-6 text-sm">
      <Part title="Run">
        <dl className="grid grid-cols-[6rem_1fr] gap-y-1">
          <Row name="status">{view.status?.replaceAll('-', ' ') ?? 'none yet'}</Row>
          <Row name="turn, step">
            {view.turn}, {view.step}
          </Row>
          {view.runId !== undefined && (
            <Row name="run">
              <code className="font-mono text-xs break-all">{view.runId}</code>
            </Row>
          )}
          {margins.queued.length > 0 && <Row name="queued">{margins.queued.length}</Row>}
        </dl>
      </Part>
      <Part title="Usage and cost">
        <table className="w-full tabular-nums">
          <thead className="text-left text-xs text-ink-soft">
            <tr>
              <th scope="col" className="font-normal">
                <span className="sr-only">Of what</span>
              </th>
              <th scope="col" className="text-right font-normal">
                tokens in
              </th>
              <th scope="col" className="text-right font-normal">
                out
              </th>
              <th scope="col" className="text-right font-normal">
                cost
              </th>
            </tr>
          </thead>
          <tbody>
            {step && <SpentRow name="step" spent={step} />}
            <SpentRow name="run" spent={latest} />
            <SpentRow name="session" spent={sumSpent(spending.runs)} />
          </tbody>
        </table>
      </Part>
      <Part title="Open questions">
        {questions.length === 0 ? (
          <Nothing />
        ) : (
          <ul className="list-disc pl-5">
            {questions.map(({ id, text }) => (
              <li key={id}>{text}</li>
            ))}
          </ul>
        )}
      </Part>
      {plan.length > 0 && (
        <Part title="Orchestration">
          <p>
            {plan.at(-1)?.name ?? 'done'} <span className="text-ink-soft">· {plan.at(-1)?.because}</span>
          </p>
        </Part>
      )}
      <Part title="Tool ledger">
        {calls.length === 0 ? (
          <Nothing />
        ) : (
          <ol className="space-y-2" data-testid="ledger">
            {calls.map((call) => {
              const start = entryOf(starts, call.toolCallId)
              const state = toolState(call, {
                lost: view.pendingToolCalls.some(({ toolCallId, unknown }) => toolCallId === call.toolCallId && unknown === true),
                asked: view.pendingApprovals.some(({ toolCallId }) => toolCallId === call.toolCallId),
                unreachable: false,
              })
              const Icon = state.icon
              return (
                <li key={call.toolCallId} className="rounded-lg border border-line px-3 py-2">
                  <p className="flex items-center gap-2">
                    <span className="truncate font-medium">{call.label ?? toolLabel(call.toolName)}</span>
                    <span className={`ml-auto flex shrink-0 items-center gap-1 ${state.tone}`}>
                      <Icon className="size-4" aria-hidden="true" />
                      {state.word}
                    </span>
                  </p>
                  <p className="mt-0.5 text-xs text-ink-soft">
                    {start ? `${start.effect} · started ${start.count === 1 ? 'once' : `${start.count} times`}` : 'not started'}
                    {call.durationMs !== undefined && ` · ${formatDuration(call.durationMs)}`}
                  </p>
                  {start && (
                    <code className="block truncate font-mono text-xs text-ink-soft" title="Idempotency key">
                      {start.idempotencyKey}
                    </code>
                  )}
                </li>
              )
            })}
          </ol>
        )}
        {view.toolCalls.length > calls.length && (
          <p className="mt-2 text-xs text-ink-soft">{view.toolCalls.length - calls.length} older ones stand in the conversation.</p>
        )}
      </Part>
    </div>
  )
}

const mostCalls = 50

function labelOf(view: RunView, { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string }): string {
  return toolCallOf(view, toolCallId)?.label ?? toolLabel(toolName)
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="label mb-1.5">{title}</h3>
      {children}
    </section>
  )
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-soft">{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function SpentRow({ name, spent }: { readonly name: string; readonly spent: Spent }) {
  const about = spent.estimated ? '~' : ''
  return (
    <tr data-testid={`spent-${name}`}>
      <th scope="row" className="text-left font-normal text-ink-soft">
        {name}
      </th>
      <td className="text-right">
        {about}
        {spent.inputTokens.toLocaleString('en')}
      </td>
      <td className="text-right">
        {about}
        {spent.outputTokens.toLocaleString('en')}
      </td>
      <td className="text-right">{spent.cost === undefined ? 'not known' : about + formatCost(spent.cost, spent.currency)}</td>
    </tr>
  )
}

function Nothing() {
  return <p className="text-ink-soft">None.</p>
}
