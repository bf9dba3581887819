import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineTool } from '@bowline/agent-loop'
import { memoryStore } from '@bowline/sessions/memory'
import { checkHistory } from '../explorers/history/check-history.ts'
import { historyFile } from '../explorers/history/history-file.ts'
import { readHistory } from '../explorers/history/read-history.ts'
import { recordHistory } from '../explorers/history/record-history.ts'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { setup } from '../support.ts'

const line = (n: number, rest: object): string => JSON.stringify({ process: 'a', n, at: n, ...rest })
const reading = { call: { what: 'readSession', key: 'room:1' } }

describe('a recorded history', () => {
  it('S53, S197: holds no message, no input of a tool, no outcome and no state', async () => {
    const lines: string[] = []
    const recorder = recordHistory({ process: 'a', write: (text) => void lines.push(text) })
    const tell = defineTool({
      name: 'tell',
      description: 'Tells.',
      inputSchema: z.object({ what: z.string() }),
      execute: () => 'SECRET outcome',
    })
    const { runtime: bare } = setup({
      store: recorder.store(memoryStore()),
      tools: [tell],
      steps: [{ toolCalls: [{ name: 'tell', input: { what: 'SECRET argument' } }] }, { text: 'SECRET answer' }],
    })
    const runtime = recorder.runtime(bare)
    await runtime.start()
    const session = runtime.session('room:1', { metadata: { note: 'SECRET metadata' } })
    expect((await (await session.send('SECRET input')).result()).text).toBe('SECRET answer')
    await session.state.set({ value: 'SECRET state' }, { version: null })
    await session.messages()
    await runtime.stop()
    expect(lines.length).toBeGreaterThan(20)
    expect(lines.filter((text) => text.includes('SECRET'))).toEqual([])
    expect(checkHistory(readHistory([lines.join('\n')]), { atRest: true }).problems).toEqual([])
  })

  it('S197: is written to a private file before the next call', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bowline-history-'))
    const path = join(folder, 'a.jsonl')
    const file = historyFile(path)
    file.write(line(1, reading))
    expect(readFileSync(path, 'utf8')).toBe(`${line(1, reading)}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    file.close()
    rmSync(folder, { recursive: true })
  })

  it('S197: drops a last line that a killed process left unfinished: an unfinished call was not made, an unfinished answer was not received', () => {
    const whole = [line(1, reading), line(1, { answer: { status: 'missing' } })].join('\n')
    expect(readHistory([`${whole}\n`])).toMatchObject([{ id: 'a#1', answer: { status: 'missing' } }])
    expect(readHistory([whole])).toMatchObject([{ id: 'a#1', answer: { status: 'missing' } }])
    const [torn] = readHistory([`${whole.slice(0, -5)}`])
    expect(torn).toMatchObject({ id: 'a#1', returnedAt: Infinity })
    expect(torn).not.toHaveProperty('answer')
  })

  it('S197: is refused if a line is invalid, if two starts share a name, or if an answer has no call', () => {
    expect(() => readHistory([`${line(1, reading)}\n{"process":\n${line(2, reading)}\n`])).toThrow(
      'texts[0], line 2 is no line of a history',
    )
    expect(() => readHistory([line(1, reading), line(1, reading)])).toThrow(
      'Two calls have the name a#1. Give each start of a process a name of its own.',
    )
    expect(() => readHistory([line(1, { answer: { status: 'missing' } })])).toThrow('a#1 has an answer and no call.')
  })

  it('S197: a failed call counts as a call without an answer', async () => {
    const lines: string[] = []
    const recorder = recordHistory({ process: 'a', write: (text) => void lines.push(text) })
    const store = recorder.store(memoryStore())
    await expect(store.readSession('room:1')).rejects.toThrow('not open')
    expect(readHistory([lines.join('\n')])).toMatchObject([{ returnedAt: Infinity }])
    expect(lines.at(-1)).toContain('"failed":"store-unavailable"')
  })
})
