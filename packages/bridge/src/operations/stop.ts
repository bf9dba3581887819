import type { LiveSession } from '../sessions/live-session.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
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
  const ending = sessions.live().map((live) => endWithBridge(sessions, live, leftMs()))
  await settlesWithin(clock, leftMs(), core.attempt('the sessions were not closed', () => Promise.all(ending)))
}

/** Detaches a durable session; ends any other. */
export async function endWithBridge(sessions: SessionRegistry, live: LiveSession, withinMs?: number): Promise<void> {
  if (live.found.agent.durable) return sessions.detach(live)
  if (await sessions.end(live, 'shutdown')) await sessions.takeDown(live, 'shutdown', withinMs)
}
