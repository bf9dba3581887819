import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'

/** Order of the sections. Each command writes its own section and leaves the others unchanged. */
const sections = [
  'start',
  'bench',
  'long',
  'stores',
  'state',
  'postgres',
  'restate',
  'lists',
  'http',
  'bridge',
  'page',
  'soak',
  'peers',
] as const

export type SectionName = (typeof sections)[number]

const file = join(import.meta.dirname, '../results.md')

export function writeSection(name: SectionName, body: string): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  writeFileSync(file, replaceSection(before, name, body))
}

/** Returns the text of the file with this section. Text outside sections is dropped. */
export function replaceSection(before: string, name: SectionName, body: string): string {
  const bodies = sections.map((section) => (section === name ? body : sectionIn(before, section)))
  const parts = bodies.flatMap((text, place) => (text === undefined ? [] : [marked(sections[place] ?? name, text)]))
  return ['# Benchmarks\n', ...parts].join('\n')
}

/** Returns the first line of each section: machine and date. */
export function machineLine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor'
  const date = new Date().toISOString().slice(0, 10)
  return `${availableParallelism()} cores (${model}), Node ${process.version} on ${process.platform} ${process.arch}, ${date}.`
}

function sectionIn(text: string, name: SectionName): string | undefined {
  return new RegExp(`<!-- ${name} -->\\n+([^]*?)\\n+<!-- /${name} -->`).exec(text)?.[1]
}

function marked(name: SectionName, body: string): string {
  return `<!-- ${name} -->\n\n${body.trim()}\n\n<!-- /${name} -->\n`
}
