import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../scripts/postgres/start-postgres.ts'
import { contender as bowlineDurable } from '../src/contenders/bowline-durable.ts'
import { allOf, type Contender, type DurableContender } from '../src/contender.ts'
import { durableWorkloads } from '../src/durable-workloads.ts'
import { memoryWorkloads } from '../src/memory-workloads.ts'
import { durableOurs, ours, postgresOurs } from '../src/peers.ts'
import { postgresWorkloads } from '../src/postgres-workloads.ts'
import { callsThenText, runWhole } from '../src/turns.ts'

async function contenderOf<Kind>({ module }: { readonly module: string }): Promise<Kind> {
  const loaded = (await import(pathToFileURL(module).href)) as { readonly contender: Kind }
  return loaded.contender
}

describe.each(ours)('$name', (competitor) => {
  it('gives its reader all of a turn', async () => {
    const answers = [{ text: 3, arguments: 4 }, ...callsThenText(2)]
    const { prepare } = await contenderOf<Contender>(competitor)
    await runWhole(prepare(answers), answers)
  })

  it('gives all of a turn to each of its readers', async () => {
    const contender = await contenderOf<Contender>(competitor)
    const { runWithReaders } = contender.prepare([{ text: 3 }])
    if ('unable' in runWithReaders) throw new Error(runWithReaders.unable)
    expect(await runWithReaders(3)).toEqual(Array.from({ length: 3 }, () => allOf([{ text: 3 }])))
    expect(await memoryWorkloads.readers.measure(contender, 20)).toEqual({ value: expect.any(Number) as number })
  })
})

it('leaves out a contender that has one reader', async () => {
  const { contender } = (await import('../src/contenders/bowline.ts')) as { readonly contender: Contender }
  const unable = { unable: 'its stream has one reader' }
  const single: Contender = { ...contender, prepare: (answers) => ({ ...contender.prepare(answers), runWithReaders: unable }) }
  expect(await memoryWorkloads.readers.measure(single, 20)).toEqual(unable)
})

describe.each([durableOurs])('$name, stored', (competitor) => {
  it('gives its reader all of a turn, and has it in the file', async () => {
    const contender = await contenderOf<DurableContender>(competitor)
    const { value, grownBytes, writtenBytes = Infinity } = await durableWorkloads['stored-steps'].measure(contender, 40)
    expect(value).toBeGreaterThan(0)
    expect(grownBytes).toBeGreaterThan(300)
    expect(writtenBytes).toBeGreaterThan(300)
  })

  it('does so with turns at once', async () => {
    const contender = await contenderOf<DurableContender>(competitor)
    expect((await durableWorkloads['stored-concurrent'].measure(contender, 5)).value).toBeGreaterThan(0)
  })
})

it('takes no figure from a contender that does not store what it shows', async () => {
  const forgetful: DurableContender = {
    open: async (answers, file) => ({ ...(await bowlineDurable.open(answers, file)), storedToolResults: () => Promise.resolve(0) }),
  }
  await expect(durableWorkloads['stored-steps'].measure(forgetful, 2)).rejects.toThrow('0 of 2 tool results are stored')
})

describe('on Postgres', () => {
  let server: PostgresServer | undefined

  beforeAll(async () => {
    server = await startPostgres()
    vi.stubEnv('BENCH_POSTGRES_URL', server.tcpUrl)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await server?.stop()
  })

  it('gives its reader every result of a turn, and has them in the database', async () => {
    const contender = await contenderOf<DurableContender>(postgresOurs)
    const { value, writtenBytes } = await postgresWorkloads['postgres-steps'].measure(contender, 20)
    expect(value).toBeGreaterThan(0)
    expect(writtenBytes).toBeGreaterThan(300)
  })
})
