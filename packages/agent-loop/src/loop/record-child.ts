import type { Call } from '../tools/call.ts'
import type { ChildReport } from '../tools/tool.ts'
import { chargeBudgets } from './limits.ts'
import type { Turn } from './turn.ts'

/** What was told of work that a call has handed on, in this segment. */
export interface ToldChild {
  ended: boolean
  readonly steps: Set<number>
}

type Report<Kind extends ChildReport['kind']> = Extract<ChildReport, { kind: Kind }>

const textCharacters = 500

/** Drafts what a call says of the work that it handed to somebody else. What comes behind an end is dropped. */
export function recordChild(turn: Turn, call: Call, report: ChildReport): void {
  if (call.tool?.subagent && turn.run.journal.children?.logs) return report.kind === 'end' ? book(turn, call, report) : undefined
  const told = call.children.get(report.childRunId) ?? begin(turn, call, report)
  if (told.ended) return
  switch (report.kind) {
    case 'start':
      return
    case 'update':
      return update(turn, call, report, told)
    case 'end':
      told.ended = true
      return end(turn, call, report)
    default: {
      const unknown: never = report
      return unknown
    }
  }
}

/** Whoever does not say that it begins has begun with its first word. */
function begin(turn: Turn, { row, children }: Call, report: ChildReport): ToldChild {
  const { childRunId } = report
  const { subagent, description } = report.kind === 'start' ? report : { subagent: row.toolName }
  const told: ToldChild = { ended: false, steps: new Set() }
  children.set(childRunId, told)
  turn.log.record({
    ...{ type: 'child-start', step: turn.step, toolCallId: row.toolCallId, childRunId, subagent },
    ...(description !== undefined && { description }),
  })
  return told
}

function update(turn: Turn, { row }: Call, report: Report<'update'>, { steps }: ToldChild): void {
  const { childRunId, step, status = 'running', text, toolNames = [] } = report
  if (steps.has(step)) return
  steps.add(step)
  turn.log.record({
    ...{ type: 'child-update', toolCallId: row.toolCallId, childRunId, step, status, toolNames },
    ...(text !== undefined && { text: text.slice(0, textCharacters).toWellFormed() }),
  })
}

function end(turn: Turn, call: Call, report: Report<'end'>): void {
  const { row } = call
  const { childRunId, status, usage = {}, cost, error } = report
  turn.log.record({
    ...{ type: 'child-end', step: turn.step, toolCallId: row.toolCallId, childRunId, status, usage },
    ...(cost && { cost }),
    ...(error && { error }),
  })
  book(turn, call, report)
}

function book(turn: Turn, { tool }: Call, { usage = {}, cost }: Report<'end'>): void {
  turn.bookApart('child', usage, cost)
  // A subagent that runs here has charged the budgets that it shares.
  if (!tool?.subagent || turn.run.journal.children) chargeBudgets(turn, { usage, cost })
}
