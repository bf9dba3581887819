import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** Runs the README example with this number in a separate process, with the given lines around it. Returns its output. */
async function outputOf(number: number, before: string, after = ''): Promise<string> {
  const readme = await readFile(`${folder}/README.md`, 'utf8')
  const example = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)][number]?.[1]
  if (example === undefined) throw new Error(`the README has no example ${number}`)
  // A scripted model replaces the real provider.
  const script = [`import { scriptedModel } from '@bowline/llm/testing'`, before, example.replace(/import \{ (?:openai|anthropic) \}.*\n/g, ''), after]
  const args = [...bundledFlags(), '--input-type=module-typescript', '-e', script.join('\n')]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  return stdout
}

describe('the examples of the README run as they stand', () => {
  it('one call', async () => {
    const openai = `const openai = () => scriptedModel([{ text: 'Because of scattering.', chunk: 5 }])`
    expect(await outputOf(0, openai)).toBe('Because of scattering.\nstop: 15 tokens, 0.0000625 USD\n')
  })

  it('models by name', async () => {
    const before = `
      const openai = { languageModel: () => scriptedModel([]) }
      const made: string[] = []
      const anthropic = (modelId: string) => (made.push(modelId), scriptedModel([{ text: 'Slowly.' }], { modelId }))
      const messages = [{ role: 'user' as const, content: 'How?' }]`
    const after = `console.log(made, answer.content, answer.modelId, models.info('openai:gpt-5-mini').contextWindow)`
    const printed = `[ 'claude-opus-5' ] [ { type: 'text', text: 'Slowly.' } ] claude-opus-5 400000\n`
    expect(await outputOf(1, before, after)).toBe(printed)
  })
})
