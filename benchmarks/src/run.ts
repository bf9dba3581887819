// pnpm bench [name...]: runs every *.bench.ts, or those whose file name holds one of the names, and writes results.md.
import { globSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { markdownTable, type Bench } from './harness.ts'

const wanted = process.argv.slice(2)
const files = globSync('*.bench.ts', { cwd: import.meta.dirname })
  .sort()
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.includes(name)))

const sections: string[] = []
for (const file of files) {
  const { bench } = (await import(`./${file}`)) as { readonly bench: Bench }
  const section = `## ${bench.title}\n\n${bench.text}\n\n${markdownTable(await bench.run())}\n`
  console.log(section)
  sections.push(section)
}

// A part of the figures must not replace the whole.
if (wanted.length === 0) {
  const results = [`# Benchmarks\n\n${machine()}\n`, ...sections].join('\n')
  writeFileSync(join(import.meta.dirname, '../results.md'), results)
}

function machine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor'
  const date = new Date().toISOString().slice(0, 10)
  return [
    `${availableParallelism()} cores (${model}), Node ${process.version} on ${process.platform} ${process.arch}, ${date}.`,
    'Command: `pnpm bench`. Medians of 9 interleaved rounds.',
  ].join('\n')
}
