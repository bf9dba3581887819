import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ask, openSession, servedWorker, startWorkers } from './support.ts'

it('the worker in the cookbook runs unchanged', async () => {
  const [page, agent] = await Promise.all(
    ['../../../../docs/cookbook/acp-worker.md', 'fixtures/docs-agent.ts'].map((file) => readFile(join(import.meta.dirname, file), 'utf8')),
  )
  expect(page).toContain(`\`\`\`ts check\n${agent}\`\`\``)
  const { executor } = await startWorkers([servedWorker({ id: 'reviewer' }, 'docs-agent')])
  const session = await openSession(executor, 'reviewer')
  expect((await ask(executor, session, 'Tie the knot.')).result?.text).toBe('Nothing is wrong with "Tie the knot.".')
})
