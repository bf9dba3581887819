import { inputChecks } from '../../arguments.ts'
import { SessionError } from '../../errors.ts'
import { entriesBack } from '../../writer/read-transcript.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import type { SessionRecord } from '../../contract/records.ts'
import type { SessionAccess } from '../access.ts'
import { changeIdle } from './change-idle.ts'
import type { SessionContext } from '../context.ts'
import type { Branch, Label } from './types.ts'
import type { Page, PageRequest } from '../types.ts'

const longestLabel = 200

export function isLabel(text: unknown): text is string | null {
  return text === null || (typeof text === 'string' && text !== '' && text.length <= longestLabel)
}

/** Sets or removes the label of an entry of the active path. */
export async function labelEntry(context: SessionContext, access: SessionAccess, entryId: string, text: string | null): Promise<void> {
  inputChecks.checkName('entryId', entryId)
  inputChecks.checkRequired('text', text, `a text of 1 to ${longestLabel} characters, or null`, isLabel)
  return changeIdle(context, access, async ({ key, leaf }) => {
    await checkOnPath(context.store, key, leaf, entryId)
    const node = { id: context.ids.next('entry'), parentId: leaf, at: context.clock.now() }
    return { writes: [{ op: 'entry.append', entries: [{ ...node, type: 'label', label: { entryId, text } }] }] }
  })
}

async function checkOnPath(store: SessionStore, key: string, leaf: string | null, entryId: string): Promise<void> {
  for await (const entry of entriesBack(store, key, { leaf })) if (entry.id === entryId) return
  // Throws `unknown-entry`.
  await store.readPath(key, { leaf: entryId, limit: 1 })
  throw new SessionError('invalid-input', `The entry ${entryId} is not on the active path. Switch to its branch to label it.`)
}

/** Returns the labels on a path, in the order in which they were set. */
export async function labelsOf(store: SessionStore, key: string, leaf: string | null): Promise<readonly Label[]> {
  const newest = new Map<string, { readonly text: string | null; readonly at: number }>()
  for await (const entry of entriesBack(store, key, { leaf })) {
    if (entry.type !== 'label') continue
    const { entryId, text } = entry.label
    if (!newest.has(entryId)) newest.set(entryId, { text, at: entry.at })
  }
  return [...newest].reverse().flatMap(([entryId, { text, at }]) => (text === null ? [] : { entryId, text, at }))
}

export async function branchesOf(store: SessionStore, { key, leaf: active }: SessionRecord, request: PageRequest): Promise<Page<Branch>> {
  const page = await store.listBranches(key, request)
  const items = page.items.map(async ({ leaf, entries, at }): Promise<Branch> => {
    const label = await labelOfEnd(store, key, leaf)
    return { leaf, entries, at, ...(label === undefined ? {} : { label }), active: leaf === active }
  })
  return { ...page, items: await Promise.all(items) }
}

/** Returns the label of the last entry that is not itself a label. */
async function labelOfEnd(store: SessionStore, key: string, leaf: string): Promise<string | undefined> {
  const labels: { readonly entryId: string; readonly text: string | null }[] = []
  for await (const entry of entriesBack(store, key, { leaf, limit: 5 })) {
    if (entry.type !== 'label') return labels.find(({ entryId }) => entryId === entry.id)?.text ?? undefined
    labels.push(entry.label)
  }
  return undefined
}
