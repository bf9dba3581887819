import type { SectionContext } from '../../contract/prompt.ts'

/** What of a context counts for a prompt only if a function looks at it. */
export type WatchedFact = 'sessionKey' | 'tools'

/** The same context. It says when one of these facts is read, in whatever way. */
export function watchContext(context: SectionContext, saw: (fact: WatchedFact) => void): SectionContext {
  const watched = (fact: WatchedFact): PropertyDescriptor => ({
    enumerable: true,
    get() {
      saw(fact)
      return context[fact]
    },
  })
  return Object.freeze(Object.defineProperties({ ...context }, { sessionKey: watched('sessionKey'), tools: watched('tools') }))
}
