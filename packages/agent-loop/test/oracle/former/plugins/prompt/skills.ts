import { openLoaded } from '../../base/loaded.ts'
import type { Diagnostic, LoadedList } from '../../base/loaded.ts'
import type { Skill } from '../../contract/prompt.ts'

const readers = ['read', 'skill']
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A skill is of use only to a model that can open it. */
export function canOpenSkills(tools: readonly string[]): boolean {
  return readers.some((name) => tools.includes(name))
}

export function skillList(list: LoadedList<Skill>): string {
  const { skills } = uniqueSkills(list)
  if (skills.length === 0) return ''
  const advice = 'Open the location of a skill before you do what its description says.'
  return ['<skills>', advice, ...skills.map(entryOf), '</skills>'].join('\n')
}

interface UniqueSkills {
  readonly skills: readonly Skill[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Of several skills with one name the first; the others, and what went wrong when they were loaded, as diagnostics. */
export function uniqueSkills(list: LoadedList<Skill>): UniqueSkills {
  const byName = new Map<string, Skill>()
  const { items, diagnostics } = openLoaded(list)
  const losers: Diagnostic[] = []
  for (const skill of items) {
    const { name, location } = skill
    const winner = byName.get(name)
    if (!winner) byName.set(name, skill)
    else losers.push({ kind: 'skill', name, message: `${location} is not used: ${winner.location} has its name` })
  }
  return { skills: [...byName.values()], diagnostics: [...diagnostics, ...losers] }
}

function entryOf({ name, description, location }: Skill): string {
  const fields = Object.entries({ name, description, location })
  return ['<skill>', ...fields.map(([key, value]) => `<${key}>${escape(value)}</${key}>`), '</skill>'].join('\n')
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => escapes[sign] ?? sign)
}
