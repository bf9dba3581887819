import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { contender as bowlineDurable } from '../src/contenders/bowline-durable.ts'
import type { Contender, DurableContender } from '../src/contender.ts'
import { durableWorkloads } from '../src/durable-workloads.ts'
import { durableOurs, ours } from '../src/peers.ts'
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
