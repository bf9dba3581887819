import type { Clock, JSONValue } from '@bowline/llm'
import type { Footer, SectionContext, TextSource } from '../../contract/prompt.ts'
import type { SystemPrompt } from '../../kernel/run-context.ts'
import { readSource } from './read-source.ts'
import type { ReadOptions } from './read-source.ts'
import { canOpenSkills, defaultIdentity, docsText, footerText, skillList } from './section-texts.ts'
import type { MergedSections } from './sections.ts'

/** The system prompt, and the errors of sections that are missing in it. */
export interface BuiltPrompt extends SystemPrompt {
  readonly errors: readonly { readonly section: SectionName; readonly message: string }[]
}

/** In the order of the prompt: text that changes rarely comes first, so that the provider's prompt cache still matches. */
const sectionNames = ['identity', 'docs', 'append', 'memory', 'user', 'skills', 'platform', 'footer'] as const
type SectionName = (typeof sectionNames)[number]

type SourcesOf = (sections: MergedSections, context: SectionContext) => readonly (TextSource | undefined)[]

const sourcesOf: Readonly<Record<SectionName, SourcesOf>> = {
  identity: ({ system, soul }, { tools }) => [system ?? soul ?? defaultIdentity(tools.length > 0)],
  docs: ({ docs }) => [docs && (() => docsText(docs))],
  append: ({ append }) => append,
  memory: ({ memory }) => memory,
  user: ({ user }) => user,
  skills: ({ skills }, { tools }) => [canOpenSkills(tools) ? skillList(skills) : undefined],
  platform: ({ platform = {} }, { channel = '' }) => [Object.hasOwn(platform, channel) ? platform[channel] : undefined],
  footer: ({ footer }, context) => [footer && footerText(footer, context)],
}

/**
 * Joins the sections in their order by one blank line. Leaves out empty sections, and sources that fail: those are among the
 * errors. Never rejects. Functions are called with `asked`.
 */
export async function assemblePrompt(
  sections: MergedSections,
  context: SectionContext,
  { asked = context, ...options }: ReadOptions & { readonly asked?: SectionContext } = {},
): Promise<BuiltPrompt> {
  const sources = sectionNames.flatMap((section) =>
    sourcesOf[section](sections, context)
      .filter((source) => source !== undefined)
      .map((source) => ({ section, source })),
  )
  const outcomes = await Promise.all(
    sources.map(async ({ section, source }) => ({ section, ...(await readSource(source, asked, options)) })),
  )
  const parts = outcomes.flatMap((outcome) =>
    'text' in outcome && outcome.text !== '' ? [{ name: outcome.section, text: outcome.text }] : [],
  )
  return Object.freeze({
    ...joined(parts, sections.footer),
    errors: outcomes.flatMap((outcome) => ('error' in outcome ? [{ section: outcome.section, message: outcome.error }] : [])),
  })
}

const gap = '\n\n'

/** A footer may contain the day or the session: only the text before it is the same in every turn. */
function joined(parts: readonly { readonly name: SectionName; readonly text: string }[], footer: Footer | undefined): SystemPrompt {
  let end = -gap.length
  const sections = parts.map(({ name, text }) => ({ name, end: (end += gap.length + text.length) }))
  const changes = footer?.date === true || footer?.sessionKey === true
  const lasting = changes ? sections.findLast(({ name }) => name !== 'footer') : sections.at(-1)
  return { text: parts.map(({ text }) => text).join(gap), sections, lasting: lasting?.end ?? 0 }
}

/** The sections without functions and footer, for every channel and set of tools. Equal definitions give equal values. */
export interface Statics {
  readonly sections: JSONValue
  /** False if a file could not be read. */
  readonly complete: boolean
}

/** Texts and files need no context. */
const nowhere = { tools: [], now: 0 }

export async function readStatics(sections: MergedSections, clock?: Clock): Promise<Statics> {
  // A section that consists of functions only is left out.
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
