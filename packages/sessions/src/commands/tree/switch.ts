import { summarizeMessages } from '@bowline/agent-loop'
import { SessionError } from '../../errors.ts'
import { entriesBack, messageOf } from '../../writer/read-transcript.ts'
import type { Write } from '../../contract/batch.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import type { EntryRecord, SessionRecord } from '../../contract/records.ts'
import type { SessionAccess } from '../access.ts'
import { changeIdle, type IdleChange } from './change-idle.ts'
import type { SessionContext } from '../context.ts'
import { checkPlace } from './open-calls.ts'
import type { SwitchOptions } from './types.ts'

/** Moves the end of the active path. The next entry becomes a child of the target, or of the summary after it. */
export function switchSession(
  context: SessionContext,
  access: SessionAccess,
  target: string | null,
  options: SwitchOptions,
): Promise<void> {
  const { summarize = false } = options
  const change = async (session: SessionRecord): Promise<IdleChange> => {
    if (target !== null) await checkPlace(context.store, session.key, target)
    return summarize ? summarized(context, session, target, options) : moved(context, session, target)
  }
  // Tried once: a summary costs money.
  return changeIdle(context, access, change, summarize ? 1 : undefined)
}

function moved({ clock }: SessionContext, { leaf }: SessionRecord, target: string | null): IdleChange {
  return {
    writes: [{ op: 'session.patch', patch: { leaf: target } }],
    events: [{ type: 'branch-switched', at: clock.now(), from: leaf, to: target }],
  }
}

/** Moves the path and adds a summary of the abandoned path after the target. */
async function summarized(
  context: SessionContext,
  session: SessionRecord,
  target: string | null,
  { instructions, abortSignal }: SwitchOptions,
): Promise<IdleChange> {
  const { entries, commonAncestor } = await wayLeft(context.store, session, target)
  const messages = entries.flatMap((entry) => messageOf(entry) ?? [])
  if (messages.length === 0 || session.leaf === null) return moved(context, session, target)
  const { clock, ids } = context
  const id = ids.next('entry')
  const made = await summarizeMessages(agentOf(context, session), {
    messages,
    clock,
    hooks: {
      id,
      sessionKey: session.key,
      turn: session.turns,
      onError: ({ extension, message }) => context.onExtensionError(session.key, new Error(`${extension}: ${message}`)),
    },
    ...(instructions === undefined ? {} : { instructions }),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  })
  if ('failure' in made)
    throw new SessionError(
      'summary-failed',
      `The branch could not be summarized: ${made.failure}. The session is unchanged; try again, or switch without a summary.`,
    )
  const { summary: text, usage, cost } = made
  const at = clock.now()
  const summary = { text, fromLeaf: session.leaf, commonAncestor }
  const writes: readonly Write[] = [
    { op: 'entry.append', entries: [{ id, parentId: target, at, type: 'branch-summary', summary }] },
    { op: 'session.patch', patch: { usage, ...(cost ? { cost } : {}) } },
  ]
  return { writes, events: [{ type: 'branch-switched', at, from: session.leaf, to: target, summaryEntryId: id }] }
}

/** Returns the entries of the active path that are not on the path to the target, oldest first. */
async function wayLeft(
  store: SessionStore,
  { key, leaf }: SessionRecord,
  target: string | null,
): Promise<{ readonly entries: readonly EntryRecord[]; readonly commonAncestor: string | null }> {
  const entries: EntryRecord[] = []
  const from = entriesBack(store, key, { leaf })
  const to = entriesBack(store, key, { leaf: target })
  let [left, other] = [await from.next(), await to.next()]
  // A parent always has a smaller number than its children.
  while (!left.done && left.value.id !== other.value?.id) {
    if (!other.done && other.value.n > left.value.n) {
      other = await to.next()
    } else {
      entries.push(left.value)
      left = await from.next()
    }
  }
  return { entries: entries.reverse(), commonAncestor: left.value?.id ?? null }
}

function agentOf({ agents }: SessionContext, { key, agent: name }: SessionRecord) {
  const agent = agents.get(name)
  if (agent) return agent
  throw new SessionError('unknown-agent', `The session ${key} belongs to the agent ${name}, which this runtime does not have.`)
}
