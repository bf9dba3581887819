import { unchanged } from './folds.ts'
import type { Folds } from './folds.ts'
import { isEnded, isSuspended, statusOf } from './status.ts'
import type { RunView } from './view.ts'

/** Sessions, runs, turns and steps. */
export const foldTurn: Folds<
  | ('session-start' | 'session-end' | 'run-queued' | 'branch-switched' | 'orchestration-step')
  | ('turn-start' | 'turn-end' | 'step-start' | 'save-point' | 'settled' | 'error')
> = {
  'session-start': (_view, event) => (event.copied ? { gap: true } : {}),
  'session-end': unchanged,
  'branch-switched': () => ({ gap: true }),
  'orchestration-step': unchanged,
  'save-point': unchanged,
  settled: unchanged,
  error: unchanged,
  'run-queued': (view, { runId }) => (isOpen(view) && view.status !== 'queued' ? {} : { status: 'queued', outcome: undefined, runId }),
  'turn-start': (view, { runId, turn, resumed }) => ({
    ...{ phase: 'turn', status: 'running', outcome: undefined, runId, turn, error: undefined, progress: {} },
    ...(resumed
      ? // Children go on: what they wait for then is listed anew.
        { pendingToolCalls: view.pendingToolCalls.filter(({ path, background }) => background || path.length === 0) }
      : { step: 0, usage: {}, cost: undefined, retry: undefined, ...questionsOfOthers(view) }),
  }),
  'step-start': (_view, { step }) => ({ step }),
  'turn-end': (view, { runId, status, usage, cost, error }) => {
    if (runId !== view.runId && isOpen(view)) return {}
    return {
      ...{ phase: view.phase === 'turn' ? 'idle' : view.phase, runId, status: statusOf(status), outcome: status, usage, cost, error, retry: undefined },
      ...(!isSuspended(status) && questionsOfOthers(view)),
    }
  },
}

/** What runs in the background ask goes on being asked. */
function questionsOfOthers({ pendingToolCalls, pendingApprovals }: RunView): Pick<RunView, 'pendingToolCalls' | 'pendingApprovals'> {
  return { pendingToolCalls: pendingToolCalls.filter((call) => call.background), pendingApprovals: pendingApprovals.filter((request) => request.background) }
}

/** The end of another run is then that of one that never started. */
function isOpen({ phase, status }: RunView): boolean {
  return phase === 'turn' || (status !== undefined && !isEnded(status))
}
