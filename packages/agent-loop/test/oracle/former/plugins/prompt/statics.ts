import type { Clock, JSONValue } from '@bowline/llm'
import type { TextSource } from '../../contract/prompt.ts'
import { docsText } from './docs.ts'
import { defaultIdentity } from './identity.ts'
import type { MergedSections } from './merge-sections.ts'
import { readSource } from './read-source.ts'
import { skillList } from './skills.ts'

/** The sections without functions and footer, for every channel and set of tools: equal definitions give equal values. */
export interface Statics {
  readonly sections: JSONValue
  /** False when a file could not be read. */
  readonly complete: boolean
}

/** What is read and not asked needs no context. */
const nowhere = { tools: [], now: 0 }

export async function readStatics(sections: MergedSections, clock?: Clock): Promise<Statics> {
  // A section of functions alone is none.
  const named = Object.entries(staticSources(sections)).filter(([, sources]) => sources.length > 0)
  const outcomes = await Promise.all(
    named.map(async ([name, sources]) => {
      const texts = await Promise.all(sources.map((source) => readSource(source, nowhere, { clock })))
      return [name, texts.map((outcome) => ('text' in outcome ? outcome.text : null))] as const
    }),
  )
  return { sections: Object.fromEntries(outcomes), complete: !outcomes.some(([, texts]) => texts.includes(null)) }
}

function staticSources(sections: MergedSections): Readonly<Record<string, readonly TextSource[]>> {
  const { system, soul, docs, append, memory, user, skills, platform = {} } = sections
  const channels = Object.entries(platform).map(([channel, source]) => [`platform ${channel}`, withoutFunctions([source])])
  return {
    identity: withoutFunctions([system ?? soul ?? defaultIdentity(true)]),
    docs: docs ? [() => docsText(docs)] : [],
    append: withoutFunctions(append),
    memory: withoutFunctions(memory),
    user: withoutFunctions(user),
    skills: [skillList(skills)],
    ...(Object.fromEntries(channels) as Record<string, readonly TextSource[]>),
  }
}

function withoutFunctions(sources: readonly TextSource[]): readonly TextSource[] {
  return sources.filter((source) => typeof source !== 'function')
}
