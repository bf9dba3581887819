import assert from 'node:assert/strict'
import type { Answer } from '@bowline/bridge'
import { kitApproval } from '../kit-agent.ts'
import { failureOf, outcomeOf } from './kit.ts'
import type { ExecutorBench, ExecutorTopic } from './kit.ts'

const approve: Answer = { id: kitApproval.id, decision: 'approve' }
const deny: Answer = { id: kitApproval.id, decision: 'deny' }
const bridge = { inactivityMs: 1000 }

/** Tests of agents that need input, with the stream ended or open. */
export const questions: ExecutorTopic = ({ it }) => {
  for (const [word, needs] of [
    ['ask', 'ended-questions'],
    ['hold', 'open-questions'],
  ] as const) {
    const rule = word === 'ask' ? 'B41' : 'B40'
    const how = word === 'ask' ? 'that ended the turn' : 'with the stream open'

    it(
      `${rule}: a question ${how} waits for its answer, under one request`,
      async (bench) => {
        const { sessionId, outcome } = await asked(bench, word)
        assert.deepEqual([outcome.status, outcome.stopReason], ['awaiting-approval', 'needs_input'])
        assert.equal((await bench.bridge.session(sessionId)).status, 'busy')
        assert.equal(failureOf(await bench.ask(sessionId, 'say hello')).code, 'BUSY')
        const answered = outcomeOf(await answer(bench, sessionId, approve))
        assert.deepEqual([answered.status, answered.text, answered.requestId], ['completed', 'approve', outcome.requestId])
        assert.equal((await bench.bridge.session(sessionId)).status, 'idle')
      },
      { needs: [needs], bridge },
    )

    it(
      `${rule}: a question ${how} is asked as the agent asked it`,
      async (bench) => {
        const { sessionId, outcome } = await asked(bench, word)
        const [pending] = outcome.pending ?? []
        assert.equal(outcome.pending?.length, 1)
        assert.deepEqual([pending?.kind, pending?.toolName, pending?.input], [kitApproval.kind, kitApproval.toolName, kitApproval.input])
        await bench.bridge.cancel({ sessionId })
      },
      { needs: [needs], bridge },
    )

    it(
      `B40: answers to a question ${how} are judged before the agent hears of them`,
      async (bench) => {
        const { sessionId } = await asked(bench, word)
        assert.equal(failureOf(await answer(bench, sessionId, { ...approve, id: 'unknown' })).code, 'NOT_FOUND')
        assert.equal(failureOf(await bench.bridge.prompt({ sessionId, answers: [approve], owner: 'bob' }).result()).code, 'NOT_FOUND')
        assert.ok(!(await bench.notes()).includes('answers'))
        assert.equal(outcomeOf(await answer(bench, sessionId, deny)).text, 'deny')
        assert.equal(outcomeOf(await answer(bench, sessionId, deny)).text, 'deny')
        assert.equal(failureOf(await answer(bench, sessionId, approve)).code, 'PROTOCOL')
      },
      { needs: [needs], bridge },
    )

    it(
      `B40: silence is none while a question ${how} waits, but the deadline stands`,
      async (bench) => {
        const { sessionId } = await asked(bench, word, { timeoutMs: 5000 })
        await bench.clock.advance(4000)
        const { requestId = '' } = { requestId: (await bench.bridge.session(sessionId)).currentRequestId }
        assert.equal(outcomeOf(await bench.bridge.request(requestId)).status, 'awaiting-approval')
        await bench.clock.advance(1000)
        const { code, details } = failureOf(await settled(bench, requestId))
        assert.deepEqual([code, details.stage], ['TIMEOUT', 'total'])
      },
      { needs: [needs], bridge },
    )

    it(
      `B48: who waits for the answer to a question ${how} can be stopped`,
      async (bench) => {
        const { sessionId, outcome } = await asked(bench, word)
        const { cancelled, settled } = await bench.bridge.cancel({ sessionId })
        assert.deepEqual([cancelled, settled], [true, true])
        assert.equal(outcomeOf(await bench.bridge.request(outcome.requestId)).status, 'aborted')
        assert.equal(outcomeOf(await bench.ask(sessionId, 'say next')).text, 'next')
      },
      { needs: [needs], bridge },
    )
  }
}

async function asked({ open, ask }: ExecutorBench, word: 'ask' | 'hold', input = {}) {
  const { sessionId } = await open()
  return { sessionId, outcome: outcomeOf(await ask(sessionId, word, input)) }
}

function answer({ bridge }: ExecutorBench, sessionId: string, given: Answer) {
  return bridge.prompt({ sessionId, answers: [given] }).result()
}

/** Polls the request until it no longer waits for input. */
async function settled({ bridge }: ExecutorBench, requestId: string) {
  for (;;) {
    const result = await bridge.request(requestId)
    if (!result.ok || !result.status.startsWith('awaiting')) return result
    await new Promise((resolve) => setImmediate(resolve))
  }
}
