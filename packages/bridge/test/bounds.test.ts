import { describe, expect, it } from 'vitest'
import { AgentDirectory } from '../src/agent-directory.ts'
import type { BridgeExecutor } from '../src/executors/executor.ts'
import type { SessionRecord } from '../src/sessions/session-record.ts'
import { UnattachedSessions } from '../src/sessions/unattached-sessions.ts'

describe('bounds of what one bridge remembers', () => {
  it('agents that cannot be listed: the first ones are reported once each, more are not', () => {
    const told: unknown[] = []
    let listed = 0
    const executor = {
      kind: 'worker',
      agents: () => [{ id: `made-up-${listed}` }, { id: 'steady' }],
      health: () => ({ healthy: true }),
    } as unknown as BridgeExecutor
    const logger = { debug() {}, info() {}, warn: (fields: object) => told.push('agentId' in fields && fields.agentId), error() {} }
    const directory = new AgentDirectory({ executors: [executor], defaultAgentId: undefined, authorize: () => true, logger, maxTold: 3 })
    for (; listed < 10; listed++) {
      expect(directory.list()).toEqual([])
      expect(directory.leftOut(executor)).toHaveLength(2)
    }
    expect(told).toEqual(['made-up-0', 'steady', 'made-up-1'])
  })

  it('owners with sessions of an earlier process: those read longest ago are read again, and all are counted', async () => {
    const read: string[] = []
    async function* list(owner: string): AsyncGenerator<SessionRecord> {
      read.push(owner)
      yield { owner, sessionId: `session of ${owner}`, agentId: 'a', durable: true } as SessionRecord
    }
    const sessions = new UnattachedSessions({ list, isAttached: () => false, maxOwners: 2 })
    for (let round = 1; round <= 4; round++) {
      for (const owner of ['ann', 'bob', 'cid']) {
        expect(await sessions.count(owner, () => true)).toBe(1)
        expect(await sessions.count(owner, () => true)).toBe(1)
      }
      expect(read).toHaveLength(3 * round)
    }
    sessions.remove({ owner: 'cid', sessionId: 'session of cid' })
    expect(await sessions.count('cid', () => true)).toBe(0)
    expect(read).toHaveLength(12)
  })
})
