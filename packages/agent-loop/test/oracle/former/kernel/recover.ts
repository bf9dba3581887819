import type { Reconciled } from '../contract/tool.ts'
import { returnedOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import type { Call } from './call.ts'
import { callContext } from './execute.ts'
import { stoppedOutcome, unknownAsAsked } from './finalize.ts'
import type { Turn } from './turn.ts'

/** What to do with a call that was started and has no outcome: run it again, settle it, or wait for somebody who knows. */
export type Recovery =
  | { readonly kind: 'again' }
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  | { readonly kind: 'unknown' }

export async function recover(turn: Turn, call: Call): Promise<Recovery> {
  if (turn.stop.stopped) return { kind: 'settled', outcome: stoppedOutcome(call) }
  // The process that goes on asks the tool.
  if (turn.stop.leaving) return { kind: 'unknown' }
  // The effect it was started under counts, whatever the tool says today.
  if (call.row.effect !== 'once') return { kind: 'again' }
  const found = await reconcile(turn, call)
  switch (found.happened) {
    case true: {
      const facts = { toolCallId: call.row.toolCallId, input: call.input }
      const made = returnedOutcome(call.tool, facts, found.result, 'here')
      return settledBy(await turn.stop.until(made).catch(() => unknownBehindCrash(turn, call)))
    }
    case false:
      return { kind: 'again' }
    case 'unknown':
      return settledBy(unknownBehindCrash(turn, call))
    default: {
      const unknown: never = found
      return unknown
    }
  }
}

function unknownBehindCrash(turn: Turn, call: Call): Outcome | undefined {
  return unknownAsAsked(turn, call, 'the process ended while the tool ran')
}

function settledBy(outcome: Outcome | undefined): Recovery {
  return outcome ? { kind: 'settled', outcome } : { kind: 'unknown' }
}

/** Asks the tool, as long as it may take to run. No answer, or none in time, is `unknown`. */
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
