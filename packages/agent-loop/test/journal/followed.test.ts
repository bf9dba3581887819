import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../src/index.ts'
import type { Hooks, RunRow } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { remote } from '../support/tools.ts'

const watching = (hooks: Hooks) => ({ extensions: [defineExtension({ name: 'watch', hooks })] })

/** Returns the field `followed` of each row that ends or suspends a segment. */
function followed({ journal }: Conversation): readonly (true | undefined)[] {
  const rows = journal.commits.flat().flatMap((record): RunRow[] => (record.type === 'run' && record.run.state !== 'running' ? [record.run] : []))
  return rows.map((row) => row.followed)
}

describe('the row of the run at the end of a segment', () => {
  it('says nothing of more when nobody looks on', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'x' }], watching({ onStepEnd: () => undefined })), 'go')
    expect(followed(talk)).toEqual([undefined])
  })

  it.each<keyof Hooks>(['onAgentEnd', 'onSavePoint', 'onSettled', 'onEvent'])('says that more may come when %s is heard', async (hook) => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'x' }], watching({ [hook]: () => undefined })), 'go')
    expect(followed(talk)).toEqual([true])
  })

  it('says so of a suspension, and of a turn that another one follows', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'ask', input: {} }] }, { text: 'x' }, { text: 'y' }], {
      tools: [remote('ask')],
      ...watching({ onTurnStart: async ({ turn, resumed }, { followUp }) => void (turn === 1 && resumed && (await followUp('and'))) }),
    })
    await talk.play(agent, 'go')
    await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 1 }] })
    expect(followed(talk)).toEqual([undefined, true, undefined])
  })
})
