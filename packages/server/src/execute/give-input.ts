import type { UserMessageInput } from '@bowline/client'
import type { RunHandle, RunInfo, Session } from '@bowline/sessions'
import type { Principal } from '../auth/principal.ts'
import { checkAlive } from '../routes/owned-session.ts'
import type { Services } from '../services.ts'
import { hasAddresses, takeFiles } from './take-files.ts'

/** The run that an input went to. */
export type GivenTo = Pick<RunHandle, 'runId' | 'accepted' | 'events'>

interface Given {
  readonly message: UserMessageInput
  /** Absent: it cannot be repeated. */
  readonly inputId: string | undefined
  readonly abortSignal: AbortSignal
}

const pageSize = 100

/**
 * Gives a message to a session, with its files. A repeat of one with addresses is known by its id alone, and nothing is
 * fetched for it: what is at an address may have changed since, or be gone.
 */
export async function giveInput(
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
    // Of two that come together one may have got the file, or got it first.
    const other = await runOfInput(services, session, inputId)
    if (!other) throw error
    return joined(session, other)
  }
}

function joined(session: Session, { runId, cursor }: RunInfo): GivenTo {
  return { runId, accepted: 'duplicate', events: (options) => session.events({ cursor, ...options, runId }) }
}

/** The run that was begun by the input of this id, or was steered by it. */
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
