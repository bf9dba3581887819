import type { RunRecord } from '../../contract/records.ts'
import type { RunInfo } from '../types.ts'
import { timeOf } from './call-resume.ts'
import type { RunHolder } from './types.ts'

export interface Circumstances {
  readonly holder: RunHolder | undefined
  readonly notBefore: number | undefined
  /** Run that it waits for. */
  readonly before: RunRecord | undefined
  /** True if several processes may use the store. */
  readonly isShared: boolean
  readonly now: number
}

/** Describes the next event of an open run in a sentence. */
export function nextOfRun(run: RunRecord, info: RunInfo, around: Circumstances): string {
  if (run.status === 'running') return ofRunning(run, around)
  return run.status === 'queued' ? ofQueued(run, around) : needOf(run, info)
}

/** Describes in a sentence what a run that waits needs to go on. */
export function needOf(run: RunRecord, { pendingToolCalls, pendingApprovals, heldRuns = [] }: RunInfo): string {
  switch (run.status) {
    case 'awaiting-tools':
    case 'awaiting-approval':
      return `It goes on when ${counted(pendingApprovals.length, 'approval')} and ${counted(pendingToolCalls.length, 'answer')} are given.`
    case 'awaiting-subagent':
      return heldRuns.length > 0
        ? `It waits for a subagent whose run is held: decide with recover of ${heldRuns.map(({ runId }) => runId).join(', ')}.`
        : 'It goes on when its subagents have ended.'
    case 'needs-recovery':
      return run.reason === 'definition-changed'
        ? `The definition of its agent has changed: decide with recover of ${run.id}.`
        : `It goes on when resolveTool says what became of ${pendingToolCalls.flatMap((call) => (call.unknown ? call.toolCallId : [])).join(', ') || 'its call'}.`
    default:
      return 'It has ended.'
  }
}

function ofRunning(run: RunRecord, { holder, notBefore = 0, isShared, now }: Circumstances): string {
  const taken = isShared ? 'a process that has the agent takes it up' : 'the next process that opens the store takes it up'
  const end = run.rest
    ? 'and gives it the status with which its turn ended'
    : run.stop
      ? 'and ends it, as a stop was requested'
      : run.openMessageId === undefined
        ? 'where it was'
        : 'and calls the model again, without the answer that was under way'
  if (!holder || holder.isOver) return `Its process is gone, or cannot reach the store: ${taken} ${end}.`
  const wait = notBefore > now ? ` The model is called again at ${timeOf(notBefore)}.` : ''
  if (run.rest) return `The process ${holder.owner} runs what follows the turn: hooks, or a compaction. If that dies, ${taken} ${end}.`
  return `The process ${holder.owner} executes it.${wait} If that dies, ${taken} ${end}.`
}

function ofQueued({ turn, stop, rest }: RunRecord, { before, notBefore = 0, now }: Circumstances): string {
  if (rest) return 'The next process that claims it gives it the status with which its turn ended.'
  if (stop) return 'A stop was requested: the next process that claims it ends it.'
  if (before) return `It waits behind the run ${before.id}.`
  const start = turn === undefined ? 'starts it' : 'continues its turn'
  return notBefore > now ? `A process ${start} at ${timeOf(notBefore)}.` : `The next process that has the agent ${start}.`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
