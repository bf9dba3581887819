import type { LiveSession } from '../sessions/live-session.ts'
import { settlesWithin } from '../settles-within.ts'
import type { BridgeContext } from './bridge-context.ts'

/** Extra time after the deadline, granted twice: to unfinished hooks, and to the executors. */
export const stopMarginMs = 450

/** Cancels running requests, waits for them until the deadline, then ends the sessions. Durable sessions are detached instead. */
export async function stopWork({ core, registry, sessions }: BridgeContext, deadlineAt: number): Promise<void> {
  const { clock, logger } = core.settings
  const running = registry.entries()
  logger.info({ running: running.length, deadlineMs: deadlineAt - clock.now() }, 'the bridge stops')
  for (const { request } of running) request.watch.interrupt({ cause: 'shutdown', deadlineAt })
  const leftMs = (): number => Math.max(0, deadlineAt + stopMarginMs - clock.now())
  await settlesWithin(clock, leftMs(), Promise.all(running.map(({ request }) => request.ended)))
  const ending = sessions.live().map((live) => endWithBridge({ core, sessions }, live, leftMs()))
  await settlesWithin(
    clock,
    leftMs(),
    core.attempt('the sessions were not closed', () => Promise.all(ending)),
  )
}

/** Detaches a durable session; ends any other, also if the store fails. */
export async function endWithBridge(
  { core, sessions }: Pick<BridgeContext, 'core' | 'sessions'>,
  live: LiveSession,
  withinMs?: number,
): Promise<void> {
  if (live.found.agent.durable) return sessions.detach(live)
  let isEndedElsewhere = false
  await core.attempt(
    'the end of the session was not recorded',
    async () => void (isEndedElsewhere = !(await sessions.end(live, 'shutdown'))),
  )
  if (!isEndedElsewhere) await sessions.takeDown(live, 'shutdown', withinMs)
}
