import type { Reconciled } from '../../contract/tool.ts'
import { isOverdue } from '../../kernel/call.ts'
import type { Call, Prepared } from '../../kernel/call.ts'
import { callContext } from '../../kernel/execute.ts'
import { stoppedOutcome, unknownAsAsked } from '../../kernel/finish.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { prepareAgain } from '../../kernel/settle.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome, returnedOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'

/** Decides about calls that an earlier segment has given away or started: run again, settled, or left waiting. */
export const recoveryPlugin: Plugin = {
  name: 'recovery',
  hooks: {
    reenter(turn, { call }) {
      if (call.row.state === 'remote') return overdue(turn, call)
      return call.row.state === 'started' ? recover(turn, call) : undefined
    },
  },
}

function overdue(turn: Turn, call: Call): Prepared | 'waits' {
  return isOverdue(call, turn.clock.now())
    ? { kind: 'settled', outcome: errorOutcome('no result came before its deadline', 'no') }
    : 'waits'
}

async function recover(turn: Turn, call: Call): Promise<Prepared | 'waits'> {
  const prepared = await prepareAgain(turn, call)
  if (call.row.childKey !== undefined) return enterAgain(turn, call, prepared)
  // The `effect` in the row counts, even if the tool has another one by now.
  if (!turn.stop.requested && call.row.effect !== 'once') return prepared
  const outcome = await recovered(turn, call)
  if (outcome === 'again') return prepared
  return outcome ? { kind: 'settled', outcome } : 'waits'
}

/** Resumes the call's subagent, unless the subagent only waits. Nothing is started a second time. */
function enterAgain(turn: Turn, call: Call, prepared: Prepared): Prepared | 'waits' {
  // If the run is being stopped, the subagent is closed with it, instead of settling the call here.
  if (turn.stop.requested) return 'waits'
  if (prepared.kind === 'settled') return prepared
  if (!call.entering) turn.plugins.delegation?.suspend(turn, call)
  return 'waits'
}

/** Returns undefined if nothing can be known here and the run must wait. */
async function recovered(turn: Turn, call: Call): Promise<Outcome | 'again' | undefined> {
  if (turn.stop.stopped) return stoppedOutcome(call)
  // The process that resumes asks the tool.
  if (turn.stop.leaving) return undefined
  const found = await reconcile(turn, call)
  switch (found.happened) {
    case true: {
      const facts = { toolCallId: call.row.toolCallId, input: call.input }
      return turn.stop.until(returnedOutcome(call.tool, facts, found.result, 'here')).catch(() => unknownAfterCrash(turn, call))
    }
    case false:
      return 'again'
    case 'unknown':
      return unknownAfterCrash(turn, call)
    default:
      return found satisfies never
  }
}

function unknownAfterCrash(turn: Turn, call: Call): Outcome | undefined {
  return unknownAsAsked(turn, call, 'the process ended while the tool ran')
}

/** Asks the tool, within the tool's own time limit. No answer in time is `unknown`. */
function reconcile(turn: Turn, call: Call): Promise<Reconciled> {
  const ask = call.tool?.reconcile
  if (!ask) return Promise.resolve({ happened: 'unknown' })
  const controller = new AbortController()
  return new Promise((resolve) => {
    let cancelTimer = (): void => {}
    const end = (found: Reconciled): void => {
      cancelTimer()
      forget()
      resolve(found)
    }
    const giveUp = (): void => {
      controller.abort(turn.stop.signal.reason)
      end({ happened: 'unknown' })
    }
    const forget = turn.stop.onStop(giveUp)
    const timeoutMs = call.tool?.timeoutMs
    if (typeof timeoutMs === 'number') cancelTimer = turn.clock.setTimer(turn.clock.now() + timeoutMs, giveUp)
    asked(ask, call, callContext(turn, call, controller.signal)).then(end, () => end({ happened: 'unknown' }))
  })
}

async function asked(
  ask: NonNullable<NonNullable<Call['tool']>['reconcile']>,
  call: Call,
  context: Parameters<typeof ask>[1],
): Promise<Reconciled> {
  const found: Partial<Reconciled> | undefined = await ask(call.input, context)
  return found?.happened === true || found?.happened === false ? found : { happened: 'unknown' }
}
