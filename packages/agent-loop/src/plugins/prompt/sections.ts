import { checkKeys, checkRequired } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'
import { isLoaded } from '../../base/loaded.ts'
import type { PromptSections, Skill, TextSource } from '../../contract/prompt.ts'

type Check = (path: string, value: unknown) => void

const must =
  (wanted: string, holds: (value: unknown) => boolean): Check =>
  (path, value) =>
    checkRequired(path, value, wanted, holds)

const text = must('a text', (value) => typeof value === 'string')
const flag = must('true or false', (value) => typeof value === 'boolean')
const source = must('a text, a { file } or a function', isTextSource)
const list = must('a list', Array.isArray)
const object = must('an object', isRecord)

const listOf =
  (item: Check): Check =>
  (path, value) => {
    list(path, value)
    for (const [index, entry] of (value as readonly unknown[]).entries()) item(`${path}[${index}]`, entry)
  }

const recordOf =
  (entry: Check): Check =>
  (path, value) => {
    object(path, value)
    for (const [key, item] of Object.entries(value as object)) entry(`${path}.${key}`, item)
  }

/** Checks fields by name; optional ones may be absent or undefined. */
const fields =
  (known: Readonly<Record<string, Check>>, needed: readonly string[] = []): Check =>
  (path, value) => {
    checkKeys(path, value, Object.keys(known))
    const given = value as Readonly<Record<string, unknown>>
    for (const [key, check] of Object.entries(known)) {
      if (given[key] !== undefined || needed.includes(key)) check(`${path}.${key}`, given[key])
    }
  }

const skill = fields({ name: text, description: text, location: text }, ['name', 'description', 'location'])

const sectionChecks: Readonly<Record<keyof PromptSections, Check>> = {
  system: source,
  soul: source,
  docs: fields({ folder: text, topics: listOf(text) }, ['folder']),
  append: source,
  memory: source,
  user: source,
  // A list from a folder may be an item among single skills.
  skills: listOf((name, value) => (Array.isArray(value) ? listOf(skill)(name, value) : skill(name, value))),
  platform: recordOf(source),
  footer: fields({ date: flag, workingFolder: text, lines: listOf(text), sessionKey: flag }),
}

const checkAll = fields(sectionChecks)
const { docs: checkDocs, skills: checkSkills } = sectionChecks

/** Checks the sections of an extension. Throws `invalid-config`. */
export const checkPromptSections = fields({ append: source, memory: source, user: source, docs: checkDocs, skills: checkSkills })

/** Throws `invalid-config` that names what is wrong. A text, a file or a function alone is `system`; undefined means no prompt. */
export function sectionsOf(instructions: TextSource | PromptSections | undefined): PromptSections {
  if (instructions === undefined) return { system: '' }
  if (isTextSource(instructions)) return { system: instructions }
  checkAll('instructions', instructions)
  return instructions
}

function isTextSource(value: unknown): value is TextSource {
  if (typeof value === 'string' || typeof value === 'function') return true
  return isRecord(value) && Object.keys(value).length === 1 && typeof value['file'] === 'string'
}

/** The sections of the agent and its extensions together. */
export interface MergedSections extends Omit<PromptSections, 'append' | 'memory' | 'user' | 'skills'> {
  readonly append: readonly TextSource[]
  readonly memory: readonly TextSource[]
  readonly user: readonly TextSource[]
  readonly skills: NonNullable<PromptSections['skills']>
}

type AddedSections = Partial<Pick<PromptSections, 'append' | 'memory' | 'user' | 'docs' | 'skills'>>

/** Joins texts and skills in this order; only the first docs are used. */
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
