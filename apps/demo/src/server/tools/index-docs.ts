import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const documents = [
  'quick-start.md',
  'concepts.md',
  'guarantees.md',
  'crash.md',
  'limits.md',
  'deploy.md',
  ...['bends', 'hitches', 'loops', 'splices', 'whippings', 'stoppers'].map((name) => `knots/${name}.md`),
  ...['remote-tools', 'background-work', 'budgets', 'own-store', 'own-executor', 'testing'].map((name) => `cookbook/${name}.md`),
]

const delayMs = 380

/** Idempotent: a second run results in the same index. */
export function indexDocs({ pace, dataFolder }: ToolEnvironment) {
  return defineTool({
    name: 'index_docs',
    label: toolLabel('index_docs'),
    description: 'Reads every document of a folder and builds a search index. Takes a while and reports its progress.',
    inputSchema: z.object({ folder: z.string().min(1).max(200) }),
    effect: 'idempotent',
    async *execute({ folder }, { abortSignal }) {
      let words = 0
      for (const [index, document] of documents.entries()) {
        await pace.wait(delayMs, abortSignal)
        words += 180 + document.length * 11
        yield `${index + 1}/${documents.length} ${folder}/${document}\n`
      }
      await writeFile(join(dataFolder, 'docs-index.json'), JSON.stringify({ folder, documents, words }, null, 2))
      return { output: { files: documents.length, words } }
    },
  })
}
