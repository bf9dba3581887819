import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ask, openSession, servedWorker, startWorkers } from './support.ts'

it('the README shows the worker as it runs', async () => {
  const [readme, agent] = await Promise.all(
    ['../../README.md', 'fixtures/readme-agent.ts'].map((file) => readFile(join(import.meta.dirname, file), 'utf8')),
  )
  expect(readme).toContain(`\`\`\`ts\n${agent}\`\`\``)
  const { executor } = await startWorkers([servedWorker({ id: 'reviewer' }, 'readme-agent')])
  const session = await openSession(executor, 'reviewer')
  expect((await ask(executor, session, 'Tie the knot.')).result?.text).toBe('Nothing is wrong with "Tie the knot.".')
})
