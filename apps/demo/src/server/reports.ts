import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './is-missing.ts'

const names = ['q1-final', 'q2-final', 'q3-draft']

export function reportFile(dataFolder: string, name: string): string {
  return join(dataFolder, 'reports', `${name}.md`)
}

export function binFile(dataFolder: string, name: string): string {
  return join(dataFolder, 'reports', 'bin', `${name}.md`)
}

/** Writes the reports that the demo can delete, all or none. Does nothing if they exist. */
export async function writeReports(dataFolder: string): Promise<void> {
  const folder = join(dataFolder, 'reports')
  if (await exists(folder)) return
  const draft = await mkdtemp(join(dataFolder, 'reports-'))
  await mkdir(join(draft, 'bin'))
  for (const name of names) await writeFile(join(draft, `${name}.md`), `# Report ${name}\n\nMade up for the demo.\n`)
  try {
    await rename(draft, folder)
  } catch (error) {
    // Another server process wrote them first.
    await rm(draft, { recursive: true })
    if (!(await exists(folder))) throw error
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
