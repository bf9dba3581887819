import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { measure, type Bench } from './harness.ts'

const packages = join(import.meta.dirname, '../../packages')
const modules = [
  { name: '@bowline/llm', file: join(packages, 'llm/dist/index.js') },
  { name: '@bowline/agent-loop', file: join(packages, 'agent-loop/dist/index.js') },
  { name: 'ai', file: '' },
] as const

export const bench: Bench = {
  title: 'Import',
  text: [
    'What `import` of the built package takes in a process of its own, from before to behind the import; `npm run build` makes it. Sizes are',
    'pinned in `.size-limit.json`.',
  ].join('\n'),
  async run() {
    const results = await measure(
      modules.map(({ name, file }) => ({ name, run: () => importMs(name, file) })),
      { warmups: 1 },
    )
    return { head: ['module', 'ms'], rows: results.map(({ name, medianMs }) => [`\`${name}\``, medianMs.toFixed(1)]) }
  },
}

function importMs(name: string, file: string): number {
  if (file !== '' && !existsSync(file)) throw new Error(`${name} is not built: run npm run build first`)
  const specifier = JSON.stringify(file === '' ? name : file)
  const script = `const at = performance.now(); await import(${specifier}); console.log(performance.now() - at)`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  return Number(output.toString())
}
