import { describe, expect, it } from 'vitest'
import { badKinds, misbehave } from './bad-values.ts'
import type { BadKind } from './bad-values.ts'
import { playPlugIns } from './play-plug-in.ts'
import type { PlayedPlugIn } from './play-plug-in.ts'
import { extensionOf, failingHooks, hooksAfterEnd, plugInRows } from './plug-in-rows.ts'
import type { Ended, PlugInRow } from './plug-in-rows.ts'

/** Plays a turn with a plug-in whose function goes wrong each time it is called. */
async function playBad({ make }: Pick<PlugInRow, 'make'>, kind: BadKind): Promise<PlayedPlugIn & { readonly asked: number }> {
  let asked = 0
  const played = await playPlugIns([make(() => (asked++, misbehave(kind)))])
  expect(asked).toBeGreaterThan(0)
  expect(played.faults).toEqual([])
  return { ...played, asked }
}

function endedOf({ result, events }: PlayedPlugIn): Ended {
  const call = events.flatMap((event) => (event.type === 'tool-execution-end' ? event.message.status : []))[0]
  const compaction = events.flatMap((event) => (event.type === 'compaction-end' ? event.outcome : []))[0]
  return { end: `${result.status}/${result.reason}`, ...(call && { call }), ...(compaction && { compaction }) }
}

/** The end of an error message that tells the received value. */
const received: { readonly [Kind in BadKind]?: RegExp } = {
  number: /; received 7$/,
  text: /; received a text of 4 characters$/,
  null: /; received null$/,
  array: /; received a list of 1$|\[0\] is not a message$/,
}

function errorsOf({ events }: PlayedPlugIn) {
  return events.flatMap((event) => (event.type === 'error' ? [event] : []))
}

describe.each(plugInRows)('A200: a bad plug-in: $name', (row) => {
  const { told, fails, limitMs, accepts = {} } = row

  it.each(badKinds.filter((kind) => kind !== 'never answers'))('that is bad in this way: %s', async (kind) => {
    const accepted = accepts[kind]
    const played = await playBad(row, kind)
    expect(endedOf(played)).toEqual(accepted ?? fails)
    expect({ waitedMs: played.waitedMs, stoodStill: played.stoodStill }).toEqual({ waitedMs: 0, stoodStill: false })
    const errors = errorsOf(played)
    if (accepted || !told) return void expect(errors).toEqual([])
    expect(errors).toHaveLength(played.asked)
    const [source, name, hook] = told
    for (const error of errors) {
      expect([error.source, error.name, error.hook]).toEqual([source, name, hook])
      expect(error.message).toMatch(received[kind] ?? /./)
    }
  })

  it('that never answers', async () => {
    const played = await playBad(row, 'never answers')
    const { asked, waitedMs, stoodStill } = played
    expect(stoodStill).toBe(limitMs === undefined)
    expect(endedOf(played)).toEqual(limitMs === undefined ? row.aborted : fails)
    expect(waitedMs).toBe(asked * (limitMs ?? 0))
    expect(errorsOf(played)).toHaveLength(told && limitMs !== undefined ? asked : 0)
  })
})

describe('A200: a bad observer of events', () => {
  it.each(badKinds)('that is bad in this way disturbs no turn: %s', async (kind) => {
    const played = await playBad({ make: (bad) => ({ agent: { extensions: [extensionOf('onEvent', bad)] } }) }, kind)
    expect(endedOf(played)).toEqual({ end: 'completed/stop', call: 'result', compaction: 'done' })
    expect(played.waitedMs).toBe(0)
    // Reporting each failure would make an event that fails again.
    const fails = !['never answers', 'number', 'text', 'null', 'array', 'unknown keys', 'number later'].includes(kind)
    expect(errorsOf(played).map(({ source, name, hook }) => [source, name, hook])).toEqual(fails ? [['extension', 'bad', 'onEvent']] : [])
  })
})

describe.each(failingHooks)('A200: with onError fail the extension ends the turn: %s', (hook) => {
  it.each(['throws', 'rejects', 'never answers', 'proxy', 'bad then'] as const)('if it is bad in this way: %s', async (kind) => {
    const played = await playBad({ make: (bad) => ({ agent: { extensions: [extensionOf(hook, bad, { onError: 'fail' })] } }) }, kind)
    const isLate = hooksAfterEnd.includes(hook)
    expect(played.asked).toBe(1)
    expect(endedOf(played).end).toBe(isLate ? 'completed/stop' : 'error/extension-error')
    expect(played.waitedMs).toBe(kind === 'never answers' ? 5_000 : 0)
    expect(errorsOf(played)).toMatchObject([{ source: 'extension', name: 'bad', hook, fatal: !isLate }])
    if (!isLate) expect(played.result.error).toMatchObject({ code: 'extension-error', message: expect.stringContaining('bad') as string })
  })
})
