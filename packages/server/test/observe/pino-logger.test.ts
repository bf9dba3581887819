import { pinoLogger } from '@bowline/server/pino'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/bench.ts'

it('V89: lines are JSON, one each, and all of them are written after a flush', async () => {
  const to = join(temporaryFolder(), 'log')
  const logger = pinoLogger({ to })
  for (let n = 0; n < 1000; n++) logger.info({ n }, 'request')
  logger.error({ fault: { name: 'Error' } }, 'an "end"\n')
  await logger.flush()
  const lines = readFileSync(to, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(lines).toHaveLength(1001)
  expect(lines[7]).toMatchObject({ level: 'info', n: 7, msg: 'request', time: expect.any(Number) })
  expect(lines.at(-1)).toMatchObject({ level: 'error', fault: { name: 'Error' }, msg: 'an "end"\n' })
})

it('lines below the level are not written', async () => {
  const to = join(temporaryFolder(), 'log')
  const logger = pinoLogger({ to, level: 'warn' })
  logger.info({}, 'little')
  logger.warn({}, 'much')
  await logger.flush()
  expect(readFileSync(to, 'utf8')).not.toContain('little')
})
