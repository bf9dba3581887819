import type { AssistantMessage } from '@bowline/llm'
import { clientCalls } from '../../base/messages.ts'
import { isSettled } from '../../kernel/call.ts'
import { limited } from '../../kernel/ending.ts'
import type { TurnOutcome } from '../../kernel/ending.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { EndedStep } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { cancelledOutcome } from '../../tools/outcome.ts'

/** Ends turns that have made as many model calls or tool calls as they may. */
export const limitsPlugin: Plugin = {
  name: 'limits',
  hooks: {
    refuse({ run, earlierCalls }, { row }) {
      const { maxToolCalls } = run.limits
      return earlierCalls + row.index < maxToolCalls
        ? undefined
        : cancelledOutcome(`the limit of tool calls in a turn is reached (maxToolCalls: ${maxToolCalls})`, 'no')
    },
    afterStep(turn, step) {
      step.outcome ??= outcomeOf(turn, step)
    },
  },
}

function outcomeOf(turn: Turn, { answer, calls }: EndedStep): TurnOutcome | undefined {
  const { maxSteps, maxToolCalls } = turn.run.limits
  if (isTruncated(answer) && isTruncated(answerBefore(turn))) return limited('output-length')
  if (turn.earlierCalls + calls.length > maxToolCalls) return limited('max-tool-calls')
  if (calls.length > 0 && calls.every((call) => isSettled(call) && call.row.terminate)) return { status: 'completed', reason: 'terminated' }
  return turn.step >= maxSteps ? limited('max-steps') : undefined
}

function isTruncated(answer: AssistantMessage | undefined): boolean {
  return answer?.stopReason === 'length' && clientCalls(answer).length > 0
}

function answerBefore(turn: Turn): AssistantMessage | undefined {
  const [, before] = turn.transcript.answersOfTurn()
  return before
}

/** Ends the turn as `limit` when its time is over. Returns a function that cancels this. */
export function watchDuration(turn: Turn): () => void {
  const { maxDurationMs } = turn.run.limits
  if (maxDurationMs === undefined) return () => undefined
  const endsAt = turn.clock.now() - turn.elapsedMs + maxDurationMs
  return turn.clock.setTimer(endsAt, () => {
    // Work after the end of the turn does not count as part of it.
    if (!turn.log.hasEnded)
      turn.stop.stop({ kind: 'stop', status: 'limit', reason: 'max-duration', message: 'the turn reached its time limit (maxDurationMs)' })
  })
}
