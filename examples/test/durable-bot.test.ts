import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder, start } from './start.ts'

it('durable-bot: killed in the middle of a payment it resumes, and pays once', async () => {
  const folder = newFolder()
  const payments = () => readFileSync(join(folder, '.bowline/durable-bot-payments.txt'), 'utf8').trim().split('\n')

  const first = start('durable-bot/main.ts', { folder })
  await first.printed('[bank] paid')
  first.process.kill('SIGKILL')
  expect((await first.end()).lines.join()).not.toContain('completed')
  expect(payments()).toHaveLength(1)

  expect(await start('durable-bot/main.ts', { folder }).end()).toEqual({
    lines: [
      '[bot] asks the bank what became of the payment',
      '[bot] goes on after a crash',
      '[bot] pay: result',
      'completed: Your bill is paid.',
    ],
    faults: '',
    code: 0,
  })
  expect(payments()).toHaveLength(1)

  // A third start reads the finished run from the log and calls no tool.
  const third = await start('durable-bot/main.ts', { folder }).end()
  expect(third.lines).toEqual(['[bot] goes on after a crash', '[bot] pay: result', 'completed: Your bill is paid.'])
  expect(payments()).toHaveLength(1)
})
