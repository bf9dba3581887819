import { openLoaded } from '../../base/loaded.ts'
import type { Diagnostic, LoadedList } from '../../base/loaded.ts'
import type { DocsSection, Footer, SectionContext, Skill } from '../../contract/prompt.ts'
import { fileReader } from './read-source.ts'

const plainIdentity = 'You are a helpful assistant.'

const identityWithTools = `You are a helpful agent. You do the work yourself, with the tools that you are given.

- Use a tool where it gives you a fact or changes something; answer from what you know where it does not.
- Call tools that do not need each other's results together.
- Read what a tool says before you go on: an error or a refusal is an answer too, and the same call again gives the same one.
- Say only what you did and what the tools said. When something could not be done, say so.`

/** Returns the identity of an agent without an identity of its own. */
export function defaultIdentity(hasTools: boolean): string {
  return hasTools ? identityWithTools : plainIdentity
}

/** Returns an empty text if the folder does not exist. */
export async function docsText({ folder, topics = [] }: DocsSection): Promise<string> {
  if (!(await fileReader().isFolder(folder))) return ''
  const place = `The documentation is in the folder ${folder}.`
  return topics.length === 0 ? place : `${place} Its topics: ${topics.join(', ')}.`
}

const readers = ['read', 'skill']
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns whether the model can open skills: only then are they of use to it. */
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

/** Returns the first skill of each name. The other skills, and errors of loading, are diagnostics. */
export function uniqueSkills(list: LoadedList<Skill>): UniqueSkills {
  const byName = new Map<string, Skill>()
  const { items, diagnostics } = openLoaded(list)
  const losers: Diagnostic[] = []
  for (const skill of items) {
    const { name, location } = skill
    const winner = byName.get(name)
    if (!winner) byName.set(name, skill)
    else losers.push({ kind: 'skill', name, message: `${location} is not used: ${winner.location} has the same name` })
  }
  return { skills: [...byName.values()], diagnostics: [...diagnostics, ...losers] }
}

function entryOf({ name, description, location }: Skill): string {
  const fields = Object.entries({ name, description, location })
  return ['<skill>', ...fields.map(([key, value]) => `<${key}>${escaped(value)}</${key}>`), '</skill>'].join('\n')
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => escapes[sign] ?? sign)
}

export function footerText(footer: Footer, { now, sessionKey }: SectionContext): string {
  const { date, workingFolder, lines = [], sessionKey: named } = footer
  return [
    ...(date ? [`Date: ${dayOf(now)}`] : []),
    ...(workingFolder === undefined ? [] : [`Working folder: ${workingFolder}`]),
    ...lines,
    ...(named && sessionKey !== undefined ? [`Session: ${sessionKey}`] : []),
  ].join('\n')
}

/** Returns the day in UTC. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 'yyyy-mm-dd'.length)
}
