import { describe, expect, it } from 'vitest'
import { defineExtension, defineTool } from '../../../src/index.ts'
import type { JournalRecord, StoredMessage } from '../../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import { agentOf, conversation } from '../../support/conversation.ts'
import { outerInbox } from '../../support/outer-inbox.ts'
import { userTexts } from '../../support/prompts.ts'
import { echo, gated, until } from '../../support/tools.ts'

const call = (id: string, name = 'a') => ({ toolCalls: [{ id, name, input: {} }] })
const idsTaken = (records: readonly JournalRecord[]) => records.flatMap((record) => (record.type === 'inputs-taken' ? record.inputIds : []))
const idsShown = (records: readonly JournalRecord[]) =>
  records.flatMap((record) => (record.type === 'event' && record.event.type === 'runtime-input' ? [record.event.inputId] : []))

describe('inputs that wait in the journal', () => {
  it('A92, A94: are in the very next request, in the order of the journal, before those of the run', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('steer', 'one')
    outer.give('notify', 'two')
    const agent = agentOf([{ text: 'x' }])
    const run = talk.run(agent, 'go')
    await run.steer('three')
    await run.result()
    expect(userTexts(agent.model.calls[0])).toEqual(['go', 'one', 'two', 'three'])
    const sources = talk.journal.events.flatMap((event) => (event.type === 'runtime-input' ? [[event.source, event.placement]] : []))
    expect(sources).toEqual([
      ['steer', 'turn-start'],
      ['notify', 'turn-start'],
      ['steer', 'turn-start'],
    ])
  })

  it('A180: the next input slot does not take an input that an earlier slot has drafted', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    const wait = gated('wait')
    outer.give('steer', 'early')
    const agent = agentOf([call('w', 'wait'), { text: 'x' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go')
    await until(() => wait.started.length === 1)
    outer.give('steer', 'late')
    wait.open('w')
    await run.result()
    expect(userTexts(agent.model.calls[0])).toEqual(['go', 'early'])
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'early', 'late'])
  })

  it('A180: each is confirmed in the commit that stores it', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    const wait = gated('wait')
    outer.give('steer', 'one')
    outer.give('overlay', 'two')
    const run = talk.run(agentOf([call('w', 'wait'), { text: 'x' }], { tools: [wait.tool] }), 'go')
    await until(() => wait.started.length === 1)
    outer.give('notify', 'three', 'four')
    wait.open('w')
    await run.result()
    const commits = talk.journal.commits.map((records) => [idsTaken(records), idsShown(records)]).filter(([taken]) => taken?.length !== 0)
    expect(commits).toEqual([
      [
        ['outer_1', 'outer_2'],
        ['outer_1', 'outer_2'],
      ],
      [
        ['outer_3', 'outer_4'],
        ['outer_3', 'outer_4'],
      ],
    ])
    expect(outer.waiting).toEqual([])
  })

  it('A180: an input that arrives during the final commit leads to one more step', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.onCommit = (commit) => (commit === 2 ? outer.give('steer', 'wait!') : undefined)
    const agent = agentOf([{ text: 'bye' }, { text: 'still here' }])
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'still here', steps: 2, unusedInputs: [] })
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'wait!'])
    expect(outer.expected.map((expect) => expect?.noInputs ?? false)).toEqual([false, true, false, true])
  })

  it('A180: only the input slot at step-end is repeated', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.onCommit = (commit) => (commit === 2 ? outer.give('steer', 'wait!') : undefined)
    await talk.play(agentOf([{ text: 'bye' }, { text: 'still here' }]), 'go')
    expect(
      talk.journal.events
        .filter(({ type }) => type.startsWith('step') || type === 'runtime-input')
        .map((event) =>
          event.type === 'step-end' ? `step-end ${event.continues}` : event.type === 'runtime-input' ? event.placement : event.type,
        ),
    ).toEqual(['step-start', 'step-end false', 'step-end', 'step-start', 'step-end false'])
  })

  it('A95: an input steered while the end is stored is accepted if the journal refuses the end, else refused', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    const given: Promise<unknown>[] = []
    outer.onCommit = (commit) => {
      if (commit === 2) outer.give('steer', 'from outside')
      if (commit === 2 || commit === 4) given.push(run.steer(`during ${commit}`))
    }
    const agent = agentOf([{ text: 'bye' }, { text: 'bye again' }])
    const run = talk.run(agent, 'go')
    const result = await run.result()
    expect(await Promise.all(given)).toEqual([
      { ok: true, inputId: expect.any(String) as string },
      { ok: false, reason: 'run-ended' },
    ])
    expect(userTexts(agent.model.calls[1])).toEqual(['go', 'from outside', 'during 2'])
    expect(result.unusedInputs).toEqual([])
  })

  it('A96: at the last step they stay in the inbox of the journal', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.onCommit = (commit) => (commit === 2 ? outer.give('steer', 'too late') : undefined)
    const { result } = await talk.play(agentOf([{ text: 'bye' }], { limits: { maxSteps: 1 } }), 'go')
    expect(result).toMatchObject({ status: 'completed', steps: 1, unusedInputs: [] })
    expect(outer.waiting).toEqual(['outer_1'])
    expect(outer.expected[1]?.noInputs).toBeUndefined()
  })

  it('A96: a run that was stopped before its first call leaves them in the inbox', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('steer', 'later')
    const { result } = await talk.play(agentOf([]), 'go', { abortSignal: AbortSignal.abort() })
    expect(result.status).toBe('aborted')
    expect(outer.waiting).toEqual(['outer_1'])
  })

  it('A96: a stop while the end is refused ends the turn, and the input stays in the inbox', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.onCommit = (commit) => {
      if (commit !== 2) return
      outer.give('steer', 'too late')
      run.abort()
    }
    const run = talk.run(agentOf([{ text: 'bye' }]), 'go')
    expect(await run.result()).toMatchObject({ steps: 1, text: 'bye' })
    expect(outer.waiting).toEqual(['outer_1'])
  })

  it('A180: a journal that refuses the end but gives no input is not retried forever', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: (journal) => ({ ...outer.wrap(journal), drainInputs: () => Promise.resolve([]) }) })
    outer.give('steer', 'never given')
    expect((await talk.play(agentOf([{ text: 'bye' }]), 'go')).result.status).toBe('completed')
    expect(outer.waiting).toEqual(['outer_1'])
  })

  it('A143: events of an extension while the end is refused are not lost', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    let log: (() => void) | undefined
    const extension = defineExtension({
      name: 'notes',
      hooks: { onStepEnd: (_event, context) => void (log = () => context.logStep({ name: 'noted', because: 'test', sequenceIndex: 0 })) },
    })
    outer.onCommit = (commit) => {
      if (commit !== 3) return
      outer.give('steer', 'wait!')
      log?.()
    }
    await talk.play(agentOf([{ text: 'bye' }, { text: 'still here' }], { extensions: [extension] }), 'go')
    expect(talk.types()).toContain('orchestration-step')
  })
})

describe('a turn that begins with inputs of the journal', () => {
  it('A178: run(undefined) begins it, and takes them as its input', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('notify', 'the task is done')
    outer.give('steer', 'go on')
    const agent = agentOf([{ text: 'x' }])
    const { result } = await talk.play(agent, undefined, { runId: 'mine' })
    expect(result).toMatchObject({ status: 'completed', runId: 'mine', text: 'x' })
    expect(userTexts(agent.model.calls[0])).toEqual(['the task is done', 'go on'])
    expect(talk.types().slice(0, 5)).toEqual(['turn-start', 'runtime-input', 'runtime-input', 'step-start', 'message-start'])
    expect(outer.waiting).toEqual([])
  })

  it('A178: an overlay alone begins no turn, and stays in the inbox', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('overlay', 'it is Monday')
    const { result } = await talk.play(agentOf([]), undefined)
    expect(result).toMatchObject({ reason: 'refused', error: { code: 'nothing-to-run' } })
    expect([talk.journal.commits, outer.waiting]).toEqual([[], ['outer_1']])
  })

  it('A99: an overlay is placed above the first of them', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('overlay', 'it is Monday')
    outer.give('steer', 'go on')
    outer.give('overlay', 'in May')
    const agent = agentOf([{ text: 'x' }])
    await talk.play(agent, undefined)
    expect(userTexts(agent.model.calls[0])).toEqual(['it is Monday', 'in May', 'go on'])
  })

  it('A180: a process that dies before they are stored leaves them to the next process', async () => {
    const outer = outerInbox()
    let dead = true
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => {
        const crashing = crashingJournal(journal, { commit: 1, when: 'before' })
        return outer.wrap({ ...journal, commit: (records, expect) => (dead ? crashing : journal).commit(records, expect) })
      },
    })
    outer.give('steer', 'go on')
    expect((await talk.play(agentOf([]), undefined)).result.reason).toBe('journal-error')
    expect(outer.waiting).toEqual(['outer_1'])
    dead = false
    const agent = agentOf([{ text: 'x' }])
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(userTexts(agent.model.calls[0])).toEqual(['go on'])
  })
})

describe('one at a time', () => {
  it('A94: one steering input per request, from journal or run; overlays in addition', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.give('overlay', 'o1')
    outer.give('steer', 's1', 's2')
    outer.give('overlay', 'o2')
    const agent = agentOf(
      [1, 2, 3].map((step) => ({ text: `answer ${step}` })),
      { steering: 'one-at-a-time' },
    )
    const run = talk.run(agent, 'go')
    await Promise.all([run.steer('s3'), run.overlay('o3')])
    await run.result()
    const overlays = ['o1', 'o2', 'o3', 'go']
    expect(agent.model.calls.map(userTexts)).toEqual([
      [...overlays, 's1'],
      [...overlays, 's1', 's2'],
      [...overlays, 's1', 's2', 's3'],
    ])
  })

  it('A94: all input slots of one step together take one input', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const agent = agentOf([call('w', 'wait'), call('v', 'a'), { text: 'x' }], {
      tools: [wait.tool, echo('a').tool],
      steering: 'one-at-a-time',
    })
    const run = talk.run(agent, 'go')
    await until(() => wait.started.length === 1)
    await Promise.all([run.steer('s1'), run.steer('s2')])
    wait.open('w')
    await run.result()
    expect(agent.model.calls.map(userTexts)).toEqual([['go'], ['go', 's1'], ['go', 's1', 's2']])
  })
})

describe('an input that the journal has logged', () => {
  const message: StoredMessage & { role: 'user' } = { role: 'user', id: 'logged', content: 'hello', at: 5 }

  /** Creates a journal that has logged the input, with or without the message in its transcript. */
  async function logged(stored: boolean) {
    let given = true
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        async load() {
          const state = await journal.load()
          return given ? { ...state, input: { messageId: message.id, message, source: 'slack', inputId: 'input_of_slack' } } : state
        },
        async commit(records, expect) {
          const outcome = await journal.commit(records, expect)
          given = false
          return outcome
        },
      }),
    })
    const event = {
      type: 'user-message',
      messageId: message.id,
      message,
      source: 'slack',
      at: 5,
      runId: 'run_1',
      turn: 1,
      inputId: 'input_of_slack',
    } as const
    await talk.journal.commit([{ type: 'event', event }, ...(stored ? [{ type: 'append', message } as const] : [])])
    given = true
    return talk
  }
  const handling = (onInput: NonNullable<Parameters<typeof defineExtension>[0]['hooks']>['onInput']) => [
    defineExtension({ name: 'filter', hooks: { ...(onInput && { onInput }) } }),
  ]
  const userMessages = (talk: Awaited<ReturnType<typeof logged>>) => talk.journal.events.filter(({ type }) => type === 'user-message')

  it.each([true, false])('A184: is not logged or stored again (in the transcript: %s)', async (stored) => {
    const talk = await logged(stored)
    const agent = agentOf([{ text: 'x' }])
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(userMessages(talk)).toHaveLength(1)
    expect(userTexts(agent.model.calls[0])).toEqual(['hello'])
    expect((await talk.memory.load()).messages.map(({ id }) => id)).toHaveLength(2)
    const appends = talk.journal.commits.flat().filter((record) => record.type === 'append' && record.message.id === 'logged')
    expect(appends).toHaveLength(1)
  })

  it('A184: is withdrawn as replaced when onInput changes it', async () => {
    const talk = await logged(true)
    const agent = agentOf([{ text: 'x' }], {
      extensions: handling(({ input, source }) => ({
        action: 'transform',
        input: `${source}: ${JSON.stringify(input).includes('hello')}`,
      })),
    })
    await talk.play(agent, undefined)
    expect(talk.journal.events.slice(0, 4).map((event) => (event.type === 'message-discarded' ? event.reason : event.type))).toEqual([
      'user-message',
      'replaced',
      'user-message',
      'turn-start',
    ])
    expect(userMessages(talk)[1]).toMatchObject({ source: 'slack', inputId: 'input_of_slack' })
    expect(userTexts(agent.model.calls[0])).toEqual(['slack: true'])
    expect((await talk.memory.load()).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it.each([true, false])(
    'A184, I1: its replacement has an id of its own, whatever onInput returns (in the transcript: %s)',
    async (stored) => {
      const talk = await logged(stored)
      const agent = agentOf([{ text: 'x' }], {
        extensions: handling(() => ({ action: 'transform', input: { ...message, content: 'changed' } })),
      })
      expect((await talk.play(agent, undefined)).result.status).toBe('completed')
      expect(userMessages(talk)).toMatchObject([{ messageId: 'logged' }, { message: { content: 'changed' } }])
      expect(userMessages(talk)[1]).not.toMatchObject({ messageId: 'logged' })
    },
  )

  it('A184: is withdrawn as replaced when onInput handles it', async () => {
    const talk = await logged(true)
    const { result } = await talk.play(agentOf([], { extensions: handling(() => ({ action: 'handled', reply: 'done' })) }), undefined)
    expect(result).toMatchObject({ status: 'completed', reason: 'handled', text: 'done', messages: [] })
    expect(talk.types()).toEqual(['user-message', 'message-discarded', 'turn-start', 'turn-end', 'save-point', 'settled'])
    expect((await talk.memory.load()).messages).toEqual([])
  })

  it('A99: an overlay is placed above it', async () => {
    const talk = await logged(true)
    const agent = agentOf([{ text: 'x' }])
    await talk.play(agent, undefined, { overlays: ['it is Monday'] })
    expect(userTexts(agent.model.calls[0])).toEqual(['it is Monday', 'hello'])
  })

  it('A172: if the journal cannot be read after a tool, the outcome of the tool is stored all the same', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    let paid = 0
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: {},
      effect: 'once' as const,
      execute() {
        outer.onAsk = () => {
          throw new Error('away')
        }
        return `paid ${++paid}`
      },
    })
    const agent = agentOf([call('c', 'pay'), { text: 'x' }], { tools: [pay] })
    expect(await talk.run(agent, 'go').result()).toMatchObject({ status: 'error', reason: 'journal-error', error: { message: 'away' } })
    expect((await talk.journal.load()).messages.at(-1)).toMatchObject({ role: 'tool-result', toolCallId: 'c', output: { value: 'paid 1' } })
    outer.onAsk = () => undefined
    expect(await talk.run(agent, undefined).result()).toMatchObject({ status: 'completed', text: 'x' })
    expect(paid).toBe(1)
  })

  it('A92: if the journal cannot be read at the start of a turn, nothing is stored', async () => {
    const outer = outerInbox()
    const talk = conversation({ wrap: outer.wrap })
    outer.onAsk = () => {
      throw new Error('away')
    }
    expect(await talk.run(agentOf([]), 'go').result()).toMatchObject({ status: 'error', reason: 'journal-error' })
    expect(outer.expected).toEqual([])
  })
})
