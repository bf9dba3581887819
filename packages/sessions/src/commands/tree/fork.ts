import { isEnded } from '@bowline/agent-loop/events'
import { SessionError } from '../../errors.ts'
import { checkKey } from '../../keys.ts'
import type { NewEntry } from '../../contract/batch.ts'
import type { EntryRecord, SessionRecord } from '../../contract/records.ts'
import type { SessionAccess } from '../access.ts'
import { asLogged, isTerminal, openStatuses } from '../../contract/run-status.ts'
import { busyError } from './change-idle.ts'
import type { SessionContext } from '../context.ts'
import { checkPlace } from './open-calls.ts'
import { pathForward } from './path-forward.ts'
import { copySession } from './session-copy.ts'
import { metadataOf } from '../settings.ts'
import type { ForkOptions } from './types.ts'

/** Copies a path into a new session. Later changes of the source do not matter, since entries never change. */
export async function forkSession(context: SessionContext, access: SessionAccess, options: ForkOptions): Promise<string> {
  const given = metadataOf('metadata', options.metadata)
  const source = await access.required()
  await checkEnded(context, source)
  const entryId = options.entryId ?? source.leaf
  if (entryId !== null) await checkPlace(context.store, source.key, entryId)
  const key = options.key ?? `${source.key}:${context.ids.next('fork')}`
  checkForkKey(key, options)
  const { agent, owner, settings } = source
  const metadata = given ?? source.metadata
  const copied = { key, agent, settings, metadata, forkedFrom: { key: source.key, entryId }, ...(owner === undefined ? {} : { owner }) }
  await copySession(context, copied, async (copy) => {
    for await (const entry of pathForward(context.store, source.key, entryId)) await copy.add(copiedEntry(entry))
    return entryId
  })
  return key
}

/**
 * Throws `busy` if a turn of the session is open or queued. A run that only stores records after the end of its turn does not
 * matter, because entries never change.
 */
async function checkEnded(context: SessionContext, { key, status }: SessionRecord): Promise<void> {
  if (!status || isEnded(status)) return
  const { items } = await context.store.listRuns(key, { status: openStatuses, limit: 2 })
  if (!items.every((run) => isTerminal(asLogged(run).status))) throw await busyError(context, key)
}

function checkForkKey(key: string, options: ForkOptions): void {
  try {
    checkKey(key)
  } catch (error) {
    if (options.key !== undefined || !SessionError.isInstance(error)) throw error
    throw new SessionError('invalid-key', `No key for the fork can be derived from the key of the source. Set key. ${error.message}`)
  }
}

/** Removes references that stay with the source: the entry's number and its run. */
function copiedEntry({ n: _n, runId: _runId, ...entry }: EntryRecord): NewEntry {
  return entry
}

/** Returns the identity for a handle of the fork. */
export function identityOfCopy({ key, agent, owner, metadata, settings }: SessionRecord) {
  return { key, agent, agentNamed: true, metadata, settings, ...(owner === undefined ? {} : { owner }) }
}
