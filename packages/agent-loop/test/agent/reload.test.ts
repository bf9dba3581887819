import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import { loadGuardrails, loadSkills } from '../../src/node/index.ts'
import { extension } from '../plugins/extensions/support.ts'
import { guardrail } from '../plugins/guardrails/support.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { textOfRequest } from '../support/prompts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { echo } from '../support/tools.ts'

const call = (name: string) => ({ toolCalls: [{ id: 'x', name, input: {} }] })
const skillText = (description: string) => `---\nname: cook\ndescription: ${description}\n---\n\nHow to.\n`

describe('reload', () => {
  it('A158: reads files, skills and guardrails again, for turns that begin after it', async () => {
    const folder = await temporaryFolder()
    const soul = await folder.write('soul.md', 'first soul')
    await folder.write('skills/cook/SKILL.md', skillText('first cook'))
    await folder.write('guards/allow.mjs', "export default { name: 'allow', beforeCall: () => undefined }\n")
    const [skills, guards] = ['skills', 'guards'].map((name) => join(folder.path, name)) as [string, string]
    const agent = agentOf([{ text: 'one' }, { text: 'two' }, call('read'), { text: 'three' }], {
      instructions: { soul: { file: soul }, skills: await loadSkills({ folders: [skills] }) },
      tools: [echo('read').tool],
      guardrails: await loadGuardrails({ folders: [guards] }),
    })
    const talk = conversation()
    await talk.play(agent, 'go')
    await folder.write('soul.md', 'second soul')
    await folder.write('skills/cook/SKILL.md', skillText('second cook'))
    await folder.write(
      'guards/block.mjs',
      "export default { name: 'no-read', beforeCall: () => ({ action: 'block', reason: 'nobody reads' }) }\n",
    )
    await talk.play(agent, 'again')
    await agent.reload()
    const { result } = await talk.play(agent, 'and again')
    const requests = agent.model.calls.map(textOfRequest)
    for (const [index, word] of ['first', 'first', 'second', 'second'].entries()) {
      expect(requests[index]).toContain(`${word} soul`)
      expect(requests[index]).toContain(`${word} cook`)
    }
    expect(JSON.stringify(result.messages)).toContain('nobody reads')
  })

  it('A199: an extension has the prompt rebuilt for the next turn, and the current turn keeps its prompt', async () => {
    let note = 'knots'
    const notes = extension(
      'notes',
      {
        onStepEnd: (_event, context) => {
          note = 'ships'
          context.invalidatePrompt()
          expect(() => context.invalidatePrompt(5 as never)).toThrow('channel must be a text')
        },
      },
      { promptSections: { memory: () => `Ada likes ${note}.` } },
    )
    const agent = agentOf([call('read'), { text: 'one' }, { text: 'two' }], { tools: [echo('read').tool], extensions: [notes] })
    const talk = conversation()
    await talk.play(agent, 'go')
    await talk.play(agent, 'again')
    expect(agent.model.calls.map((request) => /Ada likes (?<what>\w+)/.exec(textOfRequest(request))?.groups?.['what'])).toEqual([
      'knots',
      'knots',
      'ships',
    ])
  })

  it('A199: clears only the prompts of the named channel, also from a compaction outside a turn', async () => {
    let asked = 0
    const counting = extension(
      'counting',
      { beforeCompaction: (_event, context) => context.invalidatePrompt('chat') },
      { promptSections: { memory: () => `asked ${++asked}` } },
    )
    const agent = agentOf(
      Array.from({ length: 5 }, () => ({ text: 'ok' })),
      { extensions: [counting], compaction: { keepRecentTokens: 1 } },
    )
    const talk = conversation()
    await talk.play(agent, 'a', { channel: 'chat' })
    await talk.play(agent, 'b', { channel: 'mail' })
    expect((await agent.compact({ journal: talk.journal })).outcome).toBe('done')
    const before = asked
    await talk.play(agent, 'c', { channel: 'mail' })
    expect(asked).toBe(before)
    await talk.play(agent, 'd', { channel: 'chat' })
    expect(asked).toBe(before + 1)
  })

  it('A199: an extension has files read again', async () => {
    const folder = await temporaryFolder()
    const soul = await folder.write('soul.md', 'first soul')
    const reading = extension('reading', {
      onAgentEnd: async (_event, { reload }) => {
        await folder.write('soul.md', 'second soul')
        await reload()
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { instructions: { soul: { file: soul } }, extensions: [reading] })
    const talk = conversation()
    await talk.play(agent, 'go')
    await talk.play(agent, 'again')
    expect(agent.model.calls.map((request) => textOfRequest(request).includes('second'))).toEqual([false, true])
  })

  it('A5: a tool of the agent replaces one of an extension with the same name, and diagnostics name every tool that lost', async () => {
    const [own, lost] = [echo('read'), echo('read')]
    const skill = { name: 'cook', description: 'cooks', location: 'here' }
    const agent = agentOf([call('read'), { text: 'ok' }], {
      instructions: { skills: [skill, { ...skill, location: 'there' }] },
      tools: [own.tool],
      guardrails: [guardrail('same')],
      extensions: [
        extension(
          'more',
          {},
          {
            tools: [lost.tool, defineTool({ name: 'other', description: 'x', inputSchema: {}, execute: () => 'x' })],
            guardrails: [guardrail('same')],
          },
        ),
      ],
    })
    await agent.run('go').result()
    expect([own.calls.length, lost.calls.length]).toEqual([1, 0])
    expect(agent.model.calls[0]?.tools?.map(({ name }) => name).toSorted()).toEqual(['other', 'read'])
    expect(agent.diagnostics.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['tool read', 'guardrail same', 'skill cook'])
  })
})
