import { checkKeys, refuseConfig } from '../agent/check-options.ts'
import type { PromptSections, TextSource } from './sections.ts'

type Check = (name: string, value: unknown) => void

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const must =
  (holds: (value: unknown) => boolean, what: string): Check =>
  (name, value) => {
    if (!holds(value)) refuseConfig(`${name} must be ${what}`)
  }

const text = must((value) => typeof value === 'string', 'a text')
const flag = must((value) => typeof value === 'boolean', 'true or false')
const source = must(isTextSource, 'a text, a { file } or a function')

const listOf =
  (item: Check): Check =>
  (name, value) => {
    if (!Array.isArray(value)) return refuseConfig(`${name} must be a list`)
    value.forEach((entry, index) => item(`${name}[${index}]`, entry))
  }

const recordOf =
  (entry: Check): Check =>
  (name, value) => {
    if (!isObject(value)) return refuseConfig(`${name} must be an object`)
    for (const [key, item] of Object.entries(value)) entry(`${name}.${key}`, item)
  }

/** Fields by name; those that are not needed may be absent or undefined. */
const fields =
  (known: Readonly<Record<string, Check>>, needed: readonly string[] = []): Check =>
  (name, value) => {
    if (!isObject(value)) return refuseConfig(`${name} must be an object`)
    checkKeys(name, value, Object.keys(known))
    for (const [key, check] of Object.entries(known)) {
      if (value[key] !== undefined || needed.includes(key)) check(`${name}.${key}`, value[key])
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
  return isObject(value) && Object.keys(value).length === 1 && typeof value['file'] === 'string'
}
