import { checkKeys, checkRequired } from '../../base/checks.ts'
import { isRecord } from '../../base/json.ts'
import type { PromptSections, TextSource } from '../../contract/prompt.ts'

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

/** Fields by name; optional ones may be absent or undefined. */
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
  // A list from a folder stands among single skills.
  skills: listOf((name, value) => (Array.isArray(value) ? listOf(skill)(name, value) : skill(name, value))),
  platform: recordOf(source),
  footer: fields({ date: flag, workingFolder: text, lines: listOf(text), sessionKey: flag }),
}

const { append, memory, user, docs, skills } = sectionChecks
const checkAll = fields(sectionChecks)
const checkAdded = fields({ append, memory, user, docs, skills })

/** Throws `invalid-config` that names what is wrong. A text, a file or a function alone is `system`; nothing is no prompt. */
export function sectionsOf(instructions: TextSource | PromptSections | undefined): PromptSections {
  if (instructions === undefined) return { system: '' }
  if (isTextSource(instructions)) return { system: instructions }
  checkAll('instructions', instructions)
  return instructions
}

/** The same for the sections of an extension. */
export function checkPromptSections(name: string, sections: unknown): void {
  checkAdded(name, sections)
}

function isTextSource(value: unknown): value is TextSource {
  if (typeof value === 'string' || typeof value === 'function') return true
  return isRecord(value) && Object.keys(value).length === 1 && typeof value['file'] === 'string'
}
