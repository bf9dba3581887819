import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { askWorld, type WorldClient } from '../fixtures/ask-world.ts'

export interface WorldProcess extends WorldClient {
  readonly port: number
  end(): Promise<void>
}

/** Starts the outside world in a process that lives as long as the tests. */
export async function startWorld(): Promise<WorldProcess> {
  const child = spawn(process.execPath, [...nodeFlags, program('sessions/test/fixtures/outside-world')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { port } = JSON.parse(line) as { port: number }
  return {
    ...askWorld(port, 'test'),
    port,
    async end() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
