import type { Journal } from '../../src/index.ts'
import { conversation } from './conversation.ts'

/** Creates a conversation whose process dies in the commit that holds the n-th event of this type. */
export function mortal(type: string, when: 'before' | 'after', nth = 1) {
  let left = nth
  let dead = false
  const wrap = (journal: Journal): Journal => ({
    ...journal,
    async commit(records, expect) {
      const isLast = !dead && records.some((record) => record.type === 'event' && record.event.type === type) && --left === 0
      if (isLast && when === 'after') await journal.commit(records, expect)
      dead ||= isLast
      if (dead) throw new Error('died')
      return journal.commit(records, expect)
    },
  })
  return { talk: conversation({ unfinished: true, wrap }), revive: () => void (dead = false) }
}
