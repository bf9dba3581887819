import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fixture, runHere, startCommand, type Command, type Outcome } from './command-support.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bowline-bridge-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

function start(...args: string[]): Command {
  return startCommand(args, { environment: { STORE_FILE: join(folder, 'sessions.db') }, folder })
}

/** Runs the command in this process. */
function run(...args: string[]): Promise<Outcome> {
  return runHere(args, { folder })
}

describe('B124: bowline-bridge ask', () => {
  it('B124: prints the answer and exits 0', async () => {
    expect(await run('--config', fixture('clients'), 'ask', 'echo', 'Hello there')).toMatchObject({
      exitCode: 0,
      stdout: 'echo: Hello there\n',
    })
  })

  it('B124: prints the stream of a runtime agent, and nothing else to stdout', async () => {
    const command = start('--config', fixture('bridge'), 'ask', 'sailor', 'Shout ahoy.')
    expect(await command.exit).toEqual([0, null])
    expect(command.stdout()).toBe('They shouted AHOY.\n')
  })

  it('B124: lists the agents, prints the question of an agent, and exits 1', async () => {
    const unknown = await run('--config', fixture('clients'), 'ask', 'nobody', 'hi')
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })
    expect(unknown.stderr).toContain('NOT_FOUND: No agent nobody; there are echo, waiting, witness, asking')
    const asked = await run('--config', fixture('clients'), 'ask', 'asking', 'hi')
    expect(asked).toMatchObject({ exitCode: 1, stdout: '' })
    expect(asked.stderr).toContain('asking waits for the approval of rm {"path":"x"}, which ask cannot answer')
  })

  it('B124: an interrupt cancels the request, and the command exits 1 with the reason', async () => {
    const command = start('--config', fixture('bridge'), 'ask', 'slow', 'hi')
    await command.says('slow has begun')
    command.child.kill('SIGINT')
    expect(await command.exit).toEqual([1, null])
    expect(command.stderr()).toContain('slow did not complete its answer: aborted (cancelled)')
  })
})
