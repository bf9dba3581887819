import { expect, it, vi } from 'vitest'
import { runStudio } from '../src/run-studio.ts'

const run = (...args: readonly string[]) => runStudio(args, () => Promise.reject(new Error('builds no page')))

it.each(['--help', '-h'])('%s prints how to start the studio, and ends with 0', async (flag) => {
  const printed = vi.spyOn(console, 'log').mockReturnValue()
  expect(await run(flag)).toBe(0)
  expect(printed).toHaveBeenCalledWith(expect.stringMatching(/^bowline-studio --server URL/))
})

it('ends with 2 and says how to start the studio if --server is missing', async () => {
  const printed = vi.spyOn(console, 'error').mockReturnValue()
  expect(await run()).toBe(2)
  expect(printed).toHaveBeenCalledWith(expect.stringMatching(/^--server is missing.*\n\nbowline-studio --server URL/))
})
