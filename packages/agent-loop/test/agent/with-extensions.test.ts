import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineAgent, defineExtension, withExtensions, type Agent, type Extension } from '../../src/index.ts'

/** Creates an extension that notes, at each model call, the names of the agents and its own name. */
function listener(name: string, seen: string[]): Extension {
  return defineExtension({ name, hooks: { onModelRequest: (_sent, { agent }) => void seen.push([...agent, name].join('/')) } })
}

const delegate = { toolCalls: [{ id: 'd', name: 'delegate_to_helper', input: { prompt: 'go' } }] }

function family(own: readonly Extension[]): { readonly boss: Agent; readonly sent: () => readonly unknown[] } {
  const models = [
    scriptedModel([delegate, { text: 'done' }, delegate, { text: 'done' }]),
    scriptedModel(() => ({ text: 'found' })),
  ] as const
  const helper = defineAgent({ name: 'helper', description: 'helps', model: models[1], extensions: own })
  const boss = defineAgent({
    name: 'boss',
    instructions: 'Be brief.',
    cache: 'off',
    model: models[0],
    subagents: [helper],
    extensions: own,
  })
  return { boss, sent: () => models.flatMap(({ calls }) => calls.map(({ abortSignal: _signal, ...sent }) => sent)) }
}

describe('an agent with further extensions', () => {
  it('D55: asks them after its own extensions, and so do its subagents; the agent itself stays unchanged', async () => {
    const seen: string[] = []
    const { boss } = family([listener('own', seen)])
    expect(
      (
        await withExtensions(boss, [listener('more', seen)])
          .run('go')
          .result()
      ).text,
    ).toBe('done')
    expect(seen).toEqual(['own', 'more', 'helper/own', 'helper/more', 'own', 'more'])
    seen.length = 0
    await boss.run('go').result()
    expect(seen).toEqual(['own', 'helper/own', 'own'])
  })

  it('D55: sends the same requests, has the same fingerprint, and reloads', async () => {
    const [plain, extended] = [family([]), family([])]
    const more = withExtensions(extended.boss, [listener('more', [])])
    await plain.boss.run('go').result()
    await more.reload()
    await more.run('go').result()
    expect(extended.sent()).toEqual(plain.sent())
    expect(await more.fingerprint()).toEqual(await plain.boss.fingerprint())
  })

  it('D55: refuses a name that is already used, and an agent for side work', () => {
    const own = listener('own', [])
    const { boss } = family([own])
    expect(() => withExtensions(boss, [own])).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('own') as string }),
    )
    expect(() => withExtensions(boss.spawnChild(), [])).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('parent') as string }),
    )
  })
})
