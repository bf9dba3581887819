import { resolve } from 'node:path'
import { messageOf } from '../base/agent-error.ts'
import { makeLoaded } from '../base/loaded.ts'
import type { Diagnostic, Loaded } from '../base/loaded.ts'
import type { Skill } from '../contract/prompt.ts'
import { uniqueSkills } from '../plugins/prompt/skills.ts'
import { checkFolders } from './check-folders.ts'
import { readFrontMatter } from './front-matter.ts'
import { listFolder } from './list-folder.ts'
import { readText } from './read-text.ts'

export interface LoadSkillsOptions {
  /** Each folder of skills has one folder per skill, with a `SKILL.md` whose head names and describes it. */
  readonly folders: readonly string[]
}

type Found = { readonly skill: Skill } | { readonly diagnostic: Diagnostic }

/**
 * The skills of the folders, for `instructions.skills`. Earlier folders win, and names of folders that begin with `_` or a
 * dot are skipped. What is wrong is in `diagnostics`.
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
