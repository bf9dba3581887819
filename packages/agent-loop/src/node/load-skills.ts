import { resolve } from 'node:path'
import { messageOf } from '../base/agent-error.ts'
import { makeLoaded } from '../base/loaded.ts'
import type { Diagnostic, Loaded } from '../base/loaded.ts'
import type { Skill } from '../contract/prompt.ts'
import { uniqueSkills } from '../plugins/prompt/section-texts.ts'
import { checkFolders, listFolder, readText } from './files.ts'

/** The folders of skills. If two skills have the same name, the one of the earlier folder is used. */
export interface LoadSkillsOptions {
  /** Each folder of skills has one folder per skill, with a `SKILL.md` whose head names and describes it. */
  readonly folders: readonly string[]
}

type Found = { readonly skill: Skill } | { readonly diagnostic: Diagnostic }

/**
 * Loads the skills of the folders, for `instructions.skills`. If two have the same name, the first is used. Folders whose names
 * begin with `_` or a dot are skipped. Problems are in `diagnostics`. Throws `AgentError` `invalid-config` if `folders` is not a
 * list of paths.
 */
export async function loadSkills(options: LoadSkillsOptions): Promise<Loaded<Skill>> {
  checkFolders('loadSkills', options)
  const perFolder = await Promise.all(options.folders.map(skillsOf))
  const found = perFolder.flat()
  const unique = uniqueSkills(found.flatMap((one) => ('skill' in one ? [one.skill] : [])))
  return makeLoaded({
    items: unique.skills,
    diagnostics: [...found.flatMap((one) => ('diagnostic' in one ? [one.diagnostic] : [])), ...unique.diagnostics],
    reload: () => loadSkills(options),
  })
}

async function skillsOf(folder: string): Promise<readonly Found[]> {
  const { entries, diagnostics } = await listFolder(resolve(folder))
  const found = await Promise.all(entries.filter(({ isFolder }) => isFolder).map(({ path }) => skillIn(path)))
  return [...diagnostics.map((diagnostic) => ({ diagnostic })), ...found]
}

async function skillIn(folder: string): Promise<Found> {
  const location = resolve(folder, 'SKILL.md')
  const wrong = (message: string): Found => ({ diagnostic: { kind: 'skill', name: location, message } })
  try {
    const head = readFrontMatter(await readText(location))
    if (!head) return wrong('it does not begin with a head between two lines ---')
    const name = head.get('name')
    const description = head.get('description')
    if (!name || !description) return wrong(`its head has no ${name ? 'description' : 'name'}`)
    return { skill: Object.freeze({ name, description, location }) }
  } catch (error) {
    return wrong(messageOf(error))
  }
}

interface Entry {
  readonly key: string
  readonly first: string
  /** The indented lines below it. */
  readonly rest: string[]
}

/**
 * Returns the texts by key between the first line `---` and the next one: plain, quoted, over several lines, or as a block (`|`,
 * `>`). Nested values are left empty. Returns undefined if the text has no such head.
 */
export function readFrontMatter(text: string): ReadonlyMap<string, string> | undefined {
  const [opening, ...lines] = text.split(/\r?\n/).map((line) => line.trimEnd())
  const end = lines.indexOf('---')
  if (opening !== '---' || end === -1) return undefined
  return new Map(entriesOf(lines.slice(0, end)).map(({ key, first, rest }) => [key, valueOf(first, rest)]))
}

function entriesOf(lines: readonly string[]): readonly Entry[] {
  const entries: Entry[] = []
  for (const line of lines) {
    const [, key, first = ''] = /^([\w-]+):(?:\s+(.*))?$/.exec(line) ?? []
    if (key !== undefined) entries.push({ key, first, rest: [] })
    else if (line === '' || /^\s/.test(line)) entries.at(-1)?.rest.push(line)
  }
  return entries
}

function valueOf(first: string, rest: readonly string[]): string {
  const [, style] = /^([|>])[+-]?\d?(?:\s+#.*)?$/.exec(first) ?? []
  if (style !== undefined) return blockOf(style === '>', rest)
  if (first === '') return ''
  const whole = [first, ...rest]
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
  const [, double] = /^"((?:[^"\\]|\\.)*)"/.exec(whole) ?? []
  if (double !== undefined) return double.replace(/\\(.)/g, (_escape, sign: string) => ({ n: '\n', t: '\t' })[sign] ?? sign)
  const [, single] = /^'((?:[^']|'')*)'/.exec(whole) ?? []
  return single?.replaceAll("''", "'") ?? whole
}

/** Reads a block. A folded block joins its lines to paragraphs. */
function blockOf(folded: boolean, lines: readonly string[]): string {
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)))
  const text = lines
    .map((line) => line.slice(indent))
    .join('\n')
    .trim()
  return folded ? text.replace(/(?<!\n)\n(?!\n)/g, ' ').replace(/\n+/g, '\n') : text
}
