import type { Journal } from '../contract/journal.ts'

type Other = Exclude<keyof Journal, 'load' | 'commit' | 'publish' | 'child'>

/** A member that is missing here does not compile. */
const others: Readonly<Record<Other, true>> = {
  takeInputs: true,
  findAnswered: true,
  enqueue: true,
  schedulesCompaction: true,
  conversation: true,
  children: true,
  abortSignal: true,
}

/** What a journal has besides what a wrapper changes; methods stay those of the journal. */
export function otherMembers(journal: Journal): Pick<Journal, Other> {
  const entries = (Object.keys(others) as Other[]).flatMap((name) => {
    const member = (journal as Readonly<Record<Other, unknown>>)[name]
    if (member === undefined) return []
    return [[name, typeof member === 'function' ? (member.bind(journal) as unknown) : member]]
  })
  return Object.fromEntries(entries) as Pick<Journal, Other>
}
