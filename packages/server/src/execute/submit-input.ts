import type { RunAhead, UserMessageInput } from '@bowline/client'
import type { RunHandle, RunInfo, Session, SessionInfo } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { checkAlive } from '../routes/owned-session.ts'
import type { Services } from '../services.ts'
import { hasAddresses, takeFiles } from './take-files.ts'

/** Run that received an input. */
export type GivenTo = Pick<RunHandle, 'runId' | 'accepted' | 'events'>

/** Returns the run that must end before a queued one starts. `info` is from before the input. */
export function runAheadOf({ accepted }: GivenTo, { openRun }: Pick<SessionInfo, 'openRun'>): RunAhead | undefined {
  return accepted === 'queued' && openRun ? { runId: openRun.runId, status: openRun.status } : undefined
}

interface Given {
  readonly message: UserMessageInput
  /** Absent if the request is not idempotent. */
  readonly inputId: string | undefined
  readonly abortSignal: AbortSignal
}

const pageSize = 100

/**
 * Gives a message with its files to a session. If the message has addresses, a retry is recognized by its id and fetches nothing:
 * the file at an address may have changed or disappeared.
 */
export async function submitInput(
  services: Services,
  { tenant }: Principal,
  session: Session,
  { message, inputId, abortSignal }: Given,
  give: (input: UserMessageInput) => Promise<RunHandle>,
): Promise<GivenTo> {
  const giveIt = async (): Promise<GivenTo> => {
    const input = await takeFiles(services.download, message, abortSignal)
    return services.runningRuns.within(tenant, session.key, () => give(input))
  }
  if (inputId === undefined || !services.download || !hasAddresses(message)) return giveIt()
  const known = await runOfInput(services, session, inputId)
  if (known) return joined(session, known)
  try {
    return await giveIt()
  } catch (error) {
    // If two requests come at the same time, the other one may have succeeded.
    const other = await runOfInput(services, session, inputId)
    if (!other) throw error
    return joined(session, other)
  }
}

function joined(session: Session, { runId, cursor }: RunInfo): GivenTo {
  return { runId, accepted: 'duplicate', events: (options) => session.events({ cursor, ...options, runId }) }
}

/** Returns the run that the input with this id started or steered. */
async function runOfInput({ runtime }: Services, session: Session, inputId: string): Promise<RunInfo | undefined> {
  const info = await session.info()
  if (!info) return undefined
  checkAlive(info)
  for (const { kind, body } of await runtime.store.readInbox(session.key, ['steer', 'taken'])) {
    if ((kind === 'steer' || kind === 'taken') && body.inputId === inputId) return (await runtime.run(body.runId)) ?? undefined
  }
  let page: string | undefined
  do {
    const { items, next } = await session.runs({ newestFirst: true, limit: pageSize, ...(page !== undefined && { page }) })
    const run = items.find((each) => each.inputId === inputId)
    if (run) return run
    page = next
  } while (page !== undefined)
  return undefined
}
