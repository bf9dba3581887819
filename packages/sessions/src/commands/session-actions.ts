import type { SessionActions } from '@bowline/agent-loop'
import type { Claim } from '../contract/session-store.ts'
import type { SessionContext } from './context.ts'
import { createSession } from './session.ts'
import { identityOfCopy } from './tree/fork.ts'
import type { Session } from './types.ts'
import { isAtRest } from './views.ts'
import { waitForRest } from './wait-for-rest.ts'

/**
 * Returns the actions that extensions of a run may take on its session once the run is at rest. `onError` is called with their
 * failures, awaited or not.
 */
export function actionsBehind(context: SessionContext, { run, session }: Claim, onError: (error: unknown) => void): SessionActions {
  const behind = <Result>(key: string, act: (session: Session) => Promise<Result>): Promise<Result> => {
    const done = waitForRest(context, session.key, run.id, (now) => isAtRest(context.store, now)).then(() =>
      act(createSession(context, identityOfCopy({ ...session, key }))),
    )
    // Without this, a failure that no extension awaits would end the process.
    done.catch(onError)
    return done
  }
  return {
    fork: (options) => behind(session.key, async (here) => ({ key: (await here.fork(options)).key })),
    switchTo: (entryId, options) => behind(session.key, async (here) => void (await here.switchTo(entryId, options))),
    compact: (options) => behind(session.key, async (here) => void (await here.compact(options))),
    send: (key, input) => behind(key, async (there) => ({ runId: (await there.send(input)).runId })),
  }
}
