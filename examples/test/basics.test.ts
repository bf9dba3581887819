import { expect, it } from 'vitest'
import { start } from './start.ts'

it('script: streams an answer and prints the stop reason and the cost', async () => {
  expect(await start('script/main.ts').end()).toEqual({
    lines: ['Air scatters blue light more than red light.', '', 'stopped: stop', 'tokens: 10 in, 5 out', 'cost: 0.0000625 USD'],
    faults: '',
    code: 0,
  })
})

const untilApproval = [
  ...['I look first.', '[stock] started', '[stock] result', '[compare_prices] started', '[compare_prices] asked North'],
  ...['[compare_prices] asked South', '[compare_prices] asked West', '[compare_prices] result'],
]
const question = 'Allow order {"item":"lamp","price":80}? [y/n] '

it('tools: shows the progress of a tool and orders only after approval in the terminal', async () => {
  const program = start('tools/main.ts')
  await program.printed(question)
  program.type('y')
  expect(await program.end()).toEqual({
    lines: [...untilApproval, `${question}[order] started`, '[order] result', 'Your lamp is on its way.'],
    faults: '',
    code: 0,
  })
})

it('tools: does not order after a denial', async () => {
  const program = start('tools/main.ts')
  await program.printed(question)
  program.type('n')
  const { lines, code } = await program.end()
  expect({ lines, code }).toEqual({ lines: [...untilApproval, `${question}[order] denied`, 'Nothing was ordered.'], code: 0 })
})
