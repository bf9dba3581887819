import { expect, it } from 'vitest'
import { testDatabase } from '../../scripts/postgres.ts'
import { newFolder, start } from './start.ts'

const database = testDatabase()

it('subagents: answers at once and reports when the background work is done', async () => {
  const { lines, faults, code } = await start('subagents/main.ts').end()
  expect({ faults, code }).toEqual({ faults: '', code: 0 })
  const report = 'planner: The train leaves at 9:04. The Anchor has a free room.'
  const ofAgents = ['trains', 'hotels'].map((name) => lines.filter((line) => line.startsWith(`[${name}]`)))
  expect(ofAgents).toEqual([
    ['[trains] started', '[trains] completed'],
    ['[hotels] started', '[hotels] completed'],
  ])
  // The planner says the first line only if it has no result yet. On a slow machine the subagents may be done by then.
  expect(lines.filter((line) => line.startsWith('planner'))).toEqual(['planner: I am looking into it.', report])
  expect(lines).toHaveLength(6)
  expect(lines.at(-1)).toBe(report)
})

it('sales-orchestration: accepts no order before there is an offer', async () => {
  const { lines, faults, code } = await start('sales-orchestration/main.ts').end()
  expect({ faults, code }).toEqual({ faults: '', code: 0 })
  expect(lines.filter((line) => line.startsWith(' ') || line.startsWith('at'))).toEqual([
    ...['  [step: qualify]', '  [take_order: denied]', '  [save_need: result]', '  [step: offer]', '  [quote: result]', '  [step: close]'],
    ...['  [take_order: result]', 'at the end: close'],
  ])
})

it('budget: refuses the subagent that no longer fits the budget, and never spends more than the limit', async () => {
  const { lines, faults, code } = await start('budget/main.ts').end()
  expect({ faults, code }).toEqual({ faults: '', code: 0 })
  expect(lines.filter((line) => line.startsWith('[reader]')).map((line) => line.split(':')[0])).toEqual([
    '[reader] limit',
    ...Array<string>(3).fill('[reader] completed'),
  ])
  for (const line of lines) {
    const [, spent, reserved] = /spent (\d+), reserved (\d+)/.exec(line) ?? []
    expect(Number(spent ?? 0) + Number(reserved ?? 0)).toBeLessThanOrEqual(7000)
  }
  expect(lines.slice(-2)).toEqual(['completed: It is about knots, as far as I could read.', 'tokens of all: 1830, spent 1830, reserved 0'])
})

it('memory: a second process knows facts from the first one', async () => {
  const folder = newFolder()
  const ask = (text: string) => start('memory/main.ts', { folder, arguments: [text] }).end()
  expect(await ask('What is my cat called?')).toEqual({ lines: ['You have not told me.'], faults: '', code: 0 })
  const note = 'note cat: My cat is called Mio.'
  expect(await ask('My cat is called Mio.')).toEqual({
    lines: ['[memory_save] result', 'I will remember that.', note],
    faults: '',
    code: 0,
  })
  expect(await ask('What is my cat called?')).toEqual({ lines: ['You told me: My cat is called Mio.', note], faults: '', code: 0 })
})

it('own-store: passes every test of the kit', async () => {
  const { lines, faults, code } = await start('own-store/main.ts').end()
  expect({ faults, code }).toEqual({ faults: '', code: 0 })
  const countOf = (name: string) =>
    Number(
      lines
        .find((line) => line.includes(` ${name} `))
        ?.split(' ')
        .at(-1),
    )
  expect(countOf('pass')).toBeGreaterThan(20)
  expect([countOf('fail'), countOf('skipped'), countOf('todo')]).toEqual([0, 0, 0])
})

const say = async (store: string, folder: string) =>
  (await start('stores/main.ts', { folder, env: { DATABASE_URL: database.url }, arguments: [store] }).end()).lines

it.each(['sqlite', 'postgres'])('stores: the same agent continues its conversation on %s', async (store) => {
  const folder = newFolder()
  expect(await say(store, folder)).toEqual([`${store}: You have sent 1 messages.`])
  expect(await say(store, folder)).toEqual([`${store}: You have sent 2 messages.`])
})

it('stores: in memory a conversation ends with the process, and an argument that is not a store is refused', async () => {
  expect(await say('memory', newFolder())).toEqual(['memory: You have sent 1 messages.'])
  const { faults, code } = await start('stores/main.ts', { arguments: ['paper'] }).end()
  expect(code).toBe(1)
  expect(faults).toContain('There is no store paper. Choose one of memory, sqlite, postgres.')
})

it('mcp-host: an MCP host talks to an agent in a worker process', async () => {
  const { lines, faults, code } = await start('mcp-host/main.ts').end()
  expect({ faults, code }).toEqual({ faults: '', code: 0 })
  expect(lines[0]).toContain('sessions_prompt')
  expect(lines.slice(1)).toEqual(Array<string>(2).fill('completed: The text is short. Nothing is wrong with it.'))
})
