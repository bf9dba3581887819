import { isLoaded } from '../../base/loaded.ts'
import type { PromptSections, Skill, TextSource } from '../../contract/prompt.ts'

/** Sections as the agent and its extensions give them together. */
export interface MergedSections extends Omit<PromptSections, 'append' | 'memory' | 'user' | 'skills'> {
  readonly append: readonly TextSource[]
  readonly memory: readonly TextSource[]
  readonly user: readonly TextSource[]
  readonly skills: NonNullable<PromptSections['skills']>
}

type AddedSections = Partial<Pick<PromptSections, 'append' | 'memory' | 'user' | 'docs' | 'skills'>>

/** Texts and skills add up in this order; of the docs the first ones count. */
export function mergeSections(own: PromptSections, added: readonly (AddedSections | undefined)[] = []): MergedSections {
  const all: readonly AddedSections[] = [own, ...added.filter((sections) => sections !== undefined)]
  const docs = all.find((sections) => sections.docs !== undefined)?.docs
  return {
    ...own,
    append: textsOf(all, 'append'),
    memory: textsOf(all, 'memory'),
    user: textsOf(all, 'user'),
    skills: all.flatMap(({ skills }) => (isLoaded<Skill>(skills) ? [skills] : (skills ?? []))),
    ...(docs !== undefined && { docs }),
  }
}

function textsOf(all: readonly AddedSections[], name: 'append' | 'memory' | 'user'): readonly TextSource[] {
  return all.map((sections) => sections[name]).filter((source) => source !== undefined)
}
