import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../src/index.ts'
import type { Hooks, RunRow } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { remote } from '../support/tools.ts'

const watching = (hooks: Hooks) => ({ extensions: [defineExtension({ name: 'watch', hooks })] })

/** Returns the field `followed` of each row that ends or suspends a segment. */
function followed({ journal }: Conversation): readonly (true | undefined)[] {
  const rows = journal.commits
    .flat()
    .flatMap((record): RunRow[] => (record.type === 'run' && record.run.state !== 'running' ? [record.run] : []))
  return rows.map((row) => row.followed)
}

describe('the row of the run at the end of a segment', () => {
  it('is not marked as followed if no hook listens to the end', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'x' }], watching({ onStepEnd: () => undefined })), 'go')
    expect(followed(talk)).toEqual([undefined])
  })

  it.each<keyof Hooks>(['onAgentEnd', 'onSavePoint', 'onSettled', 'onEvent'])(
    'is marked as followed if the hook %s is there',
    async (hook) => {
      const talk = conversation()
      await talk.play(agentOf([{ text: 'x' }], watching({ [hook]: () => undefined })), 'go')
      expect(followed(talk)).toEqual([true])
    },
  )

  it('marks a turn that another turn follows, and not a suspension without hooks', async () => {
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
