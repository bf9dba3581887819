// pnpm bench [name...]: runs every *.bench.ts, or those whose file name holds one of the names, and writes results.md.
import { globSync } from 'node:fs'
import { markdownTable, type Bench } from './harness.ts'
import { machineLine, writeSection } from './results-file.ts'

const wanted = process.argv.slice(2)
const files = globSync('*.bench.ts', { cwd: import.meta.dirname })
  .sort()
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.includes(name)))

const parts: string[] = []
for (const file of files) {
  const { bench } = (await import(`./${file}`)) as { readonly bench: Bench }
  const part = `## ${bench.title}\n\n${bench.text}\n\n${markdownTable(await bench.run())}\n`
  console.log(part)
  parts.push(part)
}

// A part of the figures must not replace the whole.
if (wanted.length === 0) {
  const head = `${machineLine()}\nCommand: \`pnpm bench\`. Medians of 9 interleaved rounds, where nothing else is said.\n`
  writeSection('bench', [head, ...parts].join('\n'))
}
