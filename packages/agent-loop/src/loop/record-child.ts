import type { Call } from '../tools/call.ts'
import type { ChildReport } from '../tools/tool.ts'
import { chargeBudgets } from './limits.ts'
import type { Turn } from './turn.ts'

const textCharacters = 500

/** Drafts what a call says of the work that it handed to somebody else. */
export function recordChild(turn: Turn, call: Call, report: ChildReport): void {
  const { toolCallId } = call.row
  const { childRunId } = report
  const base = { toolCallId, childRunId }
  switch (report.kind) {
    case 'start': {
      const { subagent, description } = report
      turn.record({ type: 'child-start', step: turn.step, ...base, subagent, ...(description !== undefined && { description }) })
      return
    }
    case 'update': {
      const { step, status = 'running', text, toolNames = [] } = report
      const key = `${childRunId}/${step}`
      if (call.updatesSeen.has(key)) return
      call.updatesSeen.add(key)
      turn.record({ type: 'child-update', ...base, step, status, toolNames, ...(text !== undefined && { text: text.slice(0, textCharacters) }) })
      return
    }
    case 'end': {
      const { status, usage = {}, cost, error } = report
      turn.record({ type: 'child-end', step: turn.step, ...base, status, usage, ...(cost && { cost }), ...(error && { error }) })
      turn.bookApart('child', usage, cost)
      // What is booked outlives the process.
      turn.writeRun('running')
      // A subagent that runs here has charged the budgets that it shares.
      if (!call.tool?.subagent || turn.run.journal.children) chargeBudgets(turn, { usage, cost })
      return
    }
    default: {
      const unknown: never = report
      return unknown
    }
  }
}
