import type { SectionContext, TextSource } from '../../contract/prompt.ts'
import { docsText } from './docs.ts'
import { footerText } from './footer.ts'
import { defaultIdentity } from './identity.ts'
import type { MergedSections } from './merge-sections.ts'
import { readSource } from './read-source.ts'
import type { ReadOptions, SourceOutcome } from './read-source.ts'
import { canOpenSkills, skillList } from './skills.ts'

/** What the model is told, and what is missing in it. */
export interface BuiltPrompt {
  readonly text: string
  readonly errors: readonly SectionError[]
}

export interface SectionError {
  readonly section: SectionName
  readonly message: string
}

/** In the order of the prompt: what changes rarely comes first, so that a provider's cache of it holds. */
export const sectionNames = ['identity', 'docs', 'append', 'memory', 'user', 'skills', 'platform', 'footer'] as const
export type SectionName = (typeof sectionNames)[number]

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
 * The sections in their order, joined by one blank line, empty ones left out. A source that fails is left out too and is
 * among the errors. Never rejects. Functions are asked with `asked`.
 */
export async function assemblePrompt(
  sections: MergedSections,
  context: SectionContext,
  { asked = context, ...options }: ReadOptions & { readonly asked?: SectionContext } = {},
): Promise<BuiltPrompt> {
  const sources = sectionNames.flatMap((section) =>
    sourcesOf[section](sections, context).filter((source) => source !== undefined).map((source) => ({ section, source })),
  )
  const outcomes = await Promise.all(
    sources.map(async ({ section, source }) => ({ section, ...(await readSource(source, asked, options)) })),
  )
  return Object.freeze({
    text: outcomes.map(textOf).filter((text) => text !== '').join('\n\n'),
    errors: outcomes.flatMap((outcome) => ('error' in outcome ? [{ section: outcome.section, message: outcome.error }] : [])),
  })
}

function textOf(outcome: SourceOutcome): string {
  return 'text' in outcome ? outcome.text : ''
}
