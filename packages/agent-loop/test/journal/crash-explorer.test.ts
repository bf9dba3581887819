import type { ToolOutput } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import type { OnUnknownOutcome } from '../../src/index.ts'
import type { CrashPoint } from '@bowline/testing'
import { checkLife, compareLives } from './crash-checks.ts'
import { liveThrough } from './crash-lives.ts'
import type { Life } from './crash-lives.ts'

const moments = ['before', 'after'] as const

async function calmLife(onUnknownOutcome: OnUnknownOutcome): Promise<Life> {
  const calm = await liveThrough([], onUnknownOutcome)
  expect(checkLife(calm)).toEqual([])
  expect(calm.world.commits).toBeGreaterThan(80)
  return calm
}

/** Returns the faults after these deaths, each with the deaths. */
async function faultsAfter(calm: Life, deaths: readonly CrashPoint[], onUnknownOutcome: OnUnknownOutcome): Promise<readonly string[]> {
  const name = deaths.map(({ commit, when }) => `${when} ${commit}`).join(', then ')
  const stormy = await liveThrough(deaths, onUnknownOutcome)
  const missed = stormy.deathsLeft > 0 && deaths.length === 1 ? ['no process died'] : []
  return [...missed, ...checkLife(stormy), ...compareLives(calm, stormy)].map((fault) => `${name}: ${fault}`)
}

describe('a conversation with every feature of a turn', () => {
  it('A171–A180: has every feature that the explorer explores', async () => {
    const { log, logs, messages } = await calmLife('stop')
    const found = log.flatMap((event) => {
      if (event.type === 'compaction-start') return [`compaction ${event.trigger}`]
      if (event.type === 'retry-start') return [`retry ${event.cause}`]
      if (event.type === 'runtime-input') return [`${event.source} ${event.placement}`]
      return []
    })
    expect(new Set(found)).toEqual(
      new Set([
        ...['compaction window', 'compaction overflow', 'compaction threshold', 'retry error', 'retry overflow', 'retry fallback'],
        ...['overlay turn-start', 'notify turn-start', 'steer turn-start', 'steer step-end', 'overlay step-end'],
      ]),
    )
    expect([...logs.keys()].sort()).toEqual(['', '/d1', '/d1/d1/i'])
    const outcomes = messages.flatMap((message) =>
      message.role === 'tool-result' && !message.toolName.startsWith('delegate') ? [`${message.status} ${textOf(message.output)}`] : [],
    )
    expect(outcomes).toEqual([
      ...['result p0 ran', 'result s0 ran', 'result l0 ran as call 3', 'denied ', 'result f1 ran', 'result n2 ran'],
      ...['result w2 ran as call 8\n\nWarning: mind the step', 'result a5 ran as call 1', 'result s5 ran', 'error b5 ran'],
    ])
  })

  describe.each(['stop', 'tell-model'] as const)('with %s', (onUnknownOutcome) => {
    // A test takes every third commit, so that none of them is long. For one of the policies, a short run takes one third only.
    const parts = onUnknownOutcome === 'stop' || rounds({ short: 1, long: 2 }) > 1 ? [1, 2, 3] : [1]
    const deaths = parts.flatMap((first) => moments.map((when) => ({ when, first })))

    it.each(deaths)(
      'A171–A180: ends the same when its process dies $when a commit, at every third commit from $first',
      async ({ when, first }) => {
        const calm = await calmLife(onUnknownOutcome)
        const faults: string[] = []
        for (let commit = first; commit <= calm.world.commits; commit += 3)
          faults.push(...(await faultsAfter(calm, [{ commit, when }], onUnknownOutcome)))
        expect(faults).toEqual([])
      },
    )

    it('A171–A180: ends the same when the next process dies soon after the first', async () => {
      const calm = await calmLife(onUnknownOutcome)
      const faults: string[] = []
      for (const deaths of pairs(calm.world.commits)) faults.push(...(await faultsAfter(calm, deaths, onUnknownOutcome)))
      expect(faults).toEqual([])
    })
  })
})

function textOf(output: ToolOutput): string {
  return output.type === 'text' || output.type === 'error-text' ? output.value : ''
}

/** Returns pairs of deaths at most four commits apart: all of them in a long run, one for every second commit in a short one. */
function pairs(commits: number): readonly (readonly CrashPoint[])[] {
  const all = Array.from({ length: commits }, (_, place) => place + 1).flatMap((commit) =>
    [1, 2, 3, 4].flatMap((next) =>
      moments.flatMap((first) =>
        moments.map((second) => [
          { commit, when: first },
          { commit: next, when: second },
        ]),
      ),
    ),
  )
  // 35 has no common divisor with the sixteen pairs of one commit, so that each kind of pair has its turn.
  return all.filter((_, place) => place % rounds({ short: 35, long: 1 }) === 0)
}
